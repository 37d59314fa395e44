package dev.annals.core.append;

import java.util.UUID;

/**
 * Which requests share a queue: those of a project that contain a record with a number, or all others of the project. A
 * sequence stays locked while any transaction that has drawn from it is open, and only the former should wait for that.
 */
record Lane(UUID projectId, boolean numbered) {}
