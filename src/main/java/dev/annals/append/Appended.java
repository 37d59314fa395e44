package dev.annals.append;

import dev.annals.record.StoredRecord;
import java.util.List;

/**
 * What became of an append.
 *
 * @param records the records as they are stored, in the order sent
 * @param created false where all of them had been stored before: the request was a retry
 */
public record Appended(List<StoredRecord> records, boolean created) {}
