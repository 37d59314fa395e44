package dev.annals.edges.delivery;

import dev.annals.core.feed.Cursor;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import java.util.List;

/**
 * Records that are delivered together, in the order of their feed; none where only the place behind them changes.
 *
 * @param before where the stream stands
 * @param after where it stands when they are delivered
 */
record Batch(NamedStream stream, List<EncodedRecord> records, Cursor before, Cursor after) {}
