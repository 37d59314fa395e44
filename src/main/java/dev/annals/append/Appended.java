package dev.annals.append;

import dev.annals.record.StoredRecord;
import java.util.List;

/**
 * What became of an append.
 *
 * @param records the records as they are stored, in the order sent
 * @param added how many of them this append stored; the others had been stored before, with the same content, or by a
 *     try of this append whose answer got lost, where the client named their ids
 */
public record Appended(List<StoredRecord> records, int added) {}
