package dev.annals.append;

import dev.annals.database.Sql;
import dev.annals.guid.SequentialGuid;
import dev.annals.record.AuditRecord;
import dev.annals.record.Party;
import dev.annals.record.StoredRecord;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.Tuple;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The records of some requests, as one statement writes them: cut into appends of at most {@value #APPEND_SIZE}, each of
 * which becomes one segment of the feed.
 */
final class AppendBatch {

    private static final String APPEND_RECORD = Sql.named("append_record");
    private static final String APPEND_RECORDS = Sql.named("append_records");
    private static final String APPEND_NUMBERED_RECORDS = Sql.named("append_numbered_records");

    /** What the schema allows an append ({@code append_size}). */
    static final int APPEND_SIZE = 256;

    private final UUID projectId;
    private final List<AuditRecord> records;
    /** The token that each record came with. */
    private final List<UUID> tokenIds;

    /** One id for every {@link #APPEND_SIZE} records. */
    private final UUID[] appendIds;
    /** Null where no record wants a number. */
    private final @Nullable BatchNumbers numbers;

    AppendBatch(UUID projectId, List<AuditRecord> records, List<UUID> tokenIds, SequentialGuid guids) {
        this.projectId = projectId;
        this.records = records;
        this.tokenIds = tokenIds;
        this.numbers = BatchNumbers.of(records);
        this.appendIds = new UUID[(records.size() + APPEND_SIZE - 1) / APPEND_SIZE];
        for (int i = 0; i < appendIds.length; i++) {
            // An append of one is named by its record and needs no row of its own.
            appendIds[i] = sizeOfAppend(i) == 1 ? records.get(i * APPEND_SIZE).id() : guids.next();
        }
    }

    private int sizeOfAppend(int append) {
        return Math.min(APPEND_SIZE, records.size() - append * APPEND_SIZE);
    }

    /** The statement that writes the batch. */
    String statement() {
        if (numbers != null) {
            return APPEND_NUMBERED_RECORDS;
        }
        return records.size() == 1 ? APPEND_RECORD : APPEND_RECORDS;
    }

    /** The binds of {@link #statement()}. */
    Tuple binds() {
        if (numbers != null) {
            return numbers.addTo(manyRecords());
        }
        return records.size() == 1 ? oneRecord() : manyRecords();
    }

    private Tuple oneRecord() {
        AuditRecord record = records.get(0);
        return Tuple.tuple()
                .addUUID(projectId)
                .addUUID(record.id())
                .addOffsetDateTime(record.timestamp())
                .addString(record.action())
                .addString(part(record.actor(), Party::type))
                .addString(part(record.actor(), Party::id))
                .addString(part(record.actor(), Party::name))
                .addString(part(record.subject(), Party::type))
                .addString(part(record.subject(), Party::id))
                .addString(part(record.subject(), Party::name))
                .addString(record.outcome())
                .addString(record.ipAddress())
                .addString(record.message())
                .addString(record.metadata())
                .addUUID(tokenIds.get(0));
    }

    private Tuple manyRecords() {
        int size = records.size();
        UUID[] appendIdOfRecord = new UUID[size];
        for (int i = 0; i < size; i++) {
            appendIdOfRecord[i] = appendIds[i / APPEND_SIZE];
        }
        List<UUID> largeAppendIds = new ArrayList<>(appendIds.length);
        List<Integer> first = new ArrayList<>(appendIds.length);
        List<Integer> last = new ArrayList<>(appendIds.length);
        for (int i = 0; i < appendIds.length; i++) {
            if (sizeOfAppend(i) > 1) {
                largeAppendIds.add(appendIds[i]);
                first.add(i * APPEND_SIZE + 1);
                last.add(i * APPEND_SIZE + sizeOfAppend(i));
            }
        }
        return Tuple.tuple()
                .addUUID(projectId)
                .addArrayOfUUID(column(UUID[]::new, AuditRecord::id))
                .addArrayOfUUID(appendIdOfRecord)
                .addArrayOfOffsetDateTime(column(OffsetDateTime[]::new, AuditRecord::timestamp))
                .addArrayOfString(text(AuditRecord::action))
                .addArrayOfString(text(record -> part(record.actor(), Party::type)))
                .addArrayOfString(text(record -> part(record.actor(), Party::id)))
                .addArrayOfString(text(record -> part(record.actor(), Party::name)))
                .addArrayOfString(text(record -> part(record.subject(), Party::type)))
                .addArrayOfString(text(record -> part(record.subject(), Party::id)))
                .addArrayOfString(text(record -> part(record.subject(), Party::name)))
                .addArrayOfString(text(AuditRecord::outcome))
                .addArrayOfString(text(AuditRecord::ipAddress))
                .addArrayOfString(text(AuditRecord::message))
                .addArrayOfString(text(AuditRecord::metadata))
                .addArrayOfUUID(largeAppendIds.toArray(UUID[]::new))
                .addArrayOfInteger(first.toArray(Integer[]::new))
                .addArrayOfInteger(last.toArray(Integer[]::new))
                .addArrayOfUUID(tokenIds.toArray(UUID[]::new));
    }

    /** The binds of {@code read_places.sql}. */
    Tuple placesTuple() {
        return Tuple.of(projectId, appendIds);
    }

    /** The records as they are stored, in their order; {@code inserted} is what {@link #statement()} answered. */
    List<StoredRecord> stored(Map<UUID, Long> firstSequenceIds, Row inserted) {
        OffsetDateTime recordedAt = inserted.getOffsetDateTime(0);
        @Nullable Long[] values = numbers == null ? new Long[records.size()] : numbers.values(inserted);
        List<StoredRecord> stored = new ArrayList<>(records.size());
        UUID namedToken = null;
        String recordedBy = null;
        for (int i = 0; i < records.size(); i++) {
            Long first = firstSequenceIds.get(appendIds[i / APPEND_SIZE]);
            if (first == null) {
                throw new IllegalStateException(
                        "append " + appendIds[i / APPEND_SIZE] + " was committed without a place");
            }
            UUID tokenId = tokenIds.get(i);
            if (!tokenId.equals(namedToken)) {
                // A batch has few tokens, and often one.
                namedToken = tokenId;
                recordedBy = StoredRecord.byToken(tokenId);
            }
            stored.add(new StoredRecord(records.get(i), first + i % APPEND_SIZE, recordedAt, values[i], recordedBy));
        }
        return stored;
    }

    private @Nullable String[] text(Function<AuditRecord, @Nullable String> value) {
        @Nullable String[] column = new String[records.size()];
        for (int i = 0; i < column.length; i++) {
            column[i] = value.apply(records.get(i));
        }
        return column;
    }

    private <T> T[] column(Function<Integer, T[]> array, Function<AuditRecord, T> value) {
        T[] column = array.apply(records.size());
        for (int i = 0; i < column.length; i++) {
            column[i] = value.apply(records.get(i));
        }
        return column;
    }

    private static @Nullable String part(@Nullable Party party, Function<Party, @Nullable String> value) {
        return party == null ? null : value.apply(party);
    }
}
