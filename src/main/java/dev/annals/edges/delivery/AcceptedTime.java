package dev.annals.edges.delivery;

import dev.annals.core.record.StoredRecord;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;

/**
 * The time of a record for a receiver that acknowledges records of other times, and drops them: the present, if the record's own is out of
 * its limits. The record's own time goes beside it, in the record as the feed has it.
 *
 * @param past how old a record may be
 * @param future how much ahead it may be
 */
record AcceptedTime(Duration past, Duration future) {

    OffsetDateTime of(StoredRecord stored) {
        OffsetDateTime own = stored.record().timestamp();
        OffsetDateTime now = OffsetDateTime.now(ZoneOffset.UTC);
        return own.isBefore(now.minus(past)) || own.isAfter(now.plus(future)) ? now : own;
    }
}
