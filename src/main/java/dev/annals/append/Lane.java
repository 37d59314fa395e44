package dev.annals.append;

import java.util.UUID;

/**
 * What a queue is for: the requests of a project that hold a record with a number, or its other requests. A sequence
 * stays locked while anybody's transaction that has drawn from it is open; only the former wait for that.
 */
record Lane(UUID projectId, boolean numbered) {}
