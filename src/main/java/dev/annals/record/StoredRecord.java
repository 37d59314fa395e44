package dev.annals.record;

import java.time.OffsetDateTime;

/**
 * A record that has its place in the feed.
 *
 * @param record what the client sent
 * @param sequenceId its place: 1, 2, 3 … in its project, in commit order
 * @param recordedAt when the service took it
 */
public record StoredRecord(AuditRecord record, long sequenceId, OffsetDateTime recordedAt) {}
