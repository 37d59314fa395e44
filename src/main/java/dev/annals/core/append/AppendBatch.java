package dev.annals.core.append;

import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.guid.SequentialGuid;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The records of several requests, as one statement writes them: split into appends of at most {@value #APPEND_SIZE} records
 * of one project, each of which becomes one segment of its feed.
 */
final class AppendBatch {

    private static final Sql APPEND_RECORD = Sql.named("core/append/append_record");
    private static final Sql APPEND_RECORDS = Sql.named("core/append/append_records");
    private static final Sql APPEND_APART = Sql.named("core/append/append_apart");
    private static final Sql APPEND_NUMBERED_RECORDS = Sql.named("core/append/append_numbered_records");
    private static final Sql READ_PLACES = Sql.named("core/append/read_places");

    /** A column of a record. */
    private record Column(String bind, Function<AuditRecord, @Nullable String> value) {}

    /** The columns that are texts, as statements take them. */
    private static final List<Column> TEXTS = List.of(
            new Column("action", AuditRecord::action),
            new Column("actor_type", record -> part(record.actor(), Party::type)),
            new Column("actor_id", record -> part(record.actor(), Party::id)),
            new Column("actor_name", record -> part(record.actor(), Party::name)),
            new Column("subject_type", record -> part(record.subject(), Party::type)),
            new Column("subject_id", record -> part(record.subject(), Party::id)),
            new Column("subject_name", record -> part(record.subject(), Party::name)),
            new Column("outcome", AuditRecord::outcome),
            new Column("ip_address", AuditRecord::ipAddress),
            new Column("message", AuditRecord::message),
            new Column("metadata", AuditRecord::metadata));

    /** What the schema allows an append ({@code append_size}). */
    static final int APPEND_SIZE = 256;

    /** An append, which of the records belong to it, and in which stretch they are. */
    private record Append(Key key, int first, int size, int stretch) {}

    /** What names an append: its id alone may be a client's, and exist in several projects. */
    private record Key(UUID projectId, UUID id) {}

    private final List<AuditRecord> records = new ArrayList<>();
    private final List<UUID> projectIds = new ArrayList<>();
    /** The token that each record came with. */
    private final List<UUID> tokenIds = new ArrayList<>();

    private final List<Append> appends = new ArrayList<>();
    /** Null where no record wants a number. */
    private final @Nullable BatchNumbers numbers;

    /** The records of each request, if each is stored in a subtransaction of its own; otherwise all. */
    private final List<Stretch> stretches = new ArrayList<>();

    /** Some of the records, one after the other. */
    private record Stretch(int first, int size) {}

    private AppendBatch(List<AppendRequest> requests, SequentialGuid guids, boolean apart) {
        for (AppendRequest request : requests) {
            List<AuditRecord> missing = request.missing();
            if (apart) {
                stretches.add(new Stretch(records.size(), missing.size()));
            }
            records.addAll(missing);
            projectIds.addAll(Collections.nCopies(missing.size(), request.key.projectId()));
            tokenIds.addAll(Collections.nCopies(missing.size(), request.tokenId));
        }
        if (!apart) {
            stretches.add(new Stretch(0, records.size()));
        }
        this.numbers = apart ? null : BatchNumbers.of(records);
        for (int i = 0; i < stretches.size(); i++) {
            cut(i, guids);
        }
    }

    /** Cuts a stretch of the records into appends. */
    private void cut(int stretch, SequentialGuid guids) {
        int first = stretches.get(stretch).first;
        int end = first + stretches.get(stretch).size;
        while (first < end) {
            UUID projectId = projectIds.get(first);
            int next = first + 1;
            while (next < end && projectIds.get(next).equals(projectId)) {
                next++;
            }
            cut(first, next, stretch, guids);
            first = next;
        }
    }

    /**
     * Cuts records of one project. None is left alone behind others: an append of one is placed by its record's trigger, and all
     * others by that of their row, so their order would be that of these triggers.
     */
    private void cut(int begin, int end, int stretch, SequentialGuid guids) {
        UUID projectId = projectIds.get(begin);
        int first = begin;
        while (first < end) {
            int left = end - first;
            int size = left == APPEND_SIZE + 1 ? APPEND_SIZE - 1 : Math.min(left, APPEND_SIZE);
            // An append of one is named by its record and needs no row of its own.
            UUID id = size == 1 ? records.get(first).id() : guids.next();
            appends.add(new Append(new Key(projectId, id), first, size, stretch));
            first += size;
        }
    }

    /**
     * The records of these requests that are not known to be stored: all of them are stored, or none.
     *
     * @param requests those of one project stand together. If any of their records wants a number, all are of one project
     */
    static AppendBatch together(List<AppendRequest> requests, SequentialGuid guids) {
        return new AppendBatch(requests, guids, false);
    }

    /**
     * The same, but each request is stored for itself, with {@link #insertApart}, and none is kept back by another one.
     *
     * @param requests any, each with a record that is not known to be stored
     */
    static AppendBatch apart(List<AppendRequest> requests, SequentialGuid guids) {
        return new AppendBatch(requests, guids, true);
    }

    /** Whether there is nothing left to store. */
    boolean isEmpty() {
        return records.isEmpty();
    }

    /**
     * The statement that writes the batch.
     *
     * @param lockTimeout how long a batch with numbers waits for each lock; others wait for as long as their session does
     */
    Binds insert(Duration lockTimeout) {
        if (numbers != null) {
            return numbers.bind(manyRecords(APPEND_NUMBERED_RECORDS
                    .bind("lock_timeout", Long.toString(lockTimeout.toMillis()))
                    .bind("project_id", projectIds.get(0))));
        }
        if (records.size() == 1) {
            return oneRecord();
        }
        Set<UUID> projects = new LinkedHashSet<>(projectIds);
        boolean several = projects.size() > 1;
        return manyRecords(APPEND_RECORDS
                        .bind(
                                "unplaced_projects",
                                several ? projects.stream().map(UUID::toString).collect(Collectors.joining(",")) : "")
                        .bind("project_id", projectIds.toArray(UUID[]::new)))
                .bind("append_project", ofLarge(UUID[]::new, append -> append.key.projectId));
    }

    /** The statement that writes each request for itself. */
    Binds insertApart() {
        return manyRecords(APPEND_APART
                .bind("request_first", stretches.stream().map(s -> s.first + 1).toArray(Integer[]::new))
                .bind(
                        "request_last",
                        stretches.stream().map(s -> s.first + s.size).toArray(Integer[]::new))
                .bind("project_id", projectIds.toArray(UUID[]::new)));
    }

    private Binds oneRecord() {
        AuditRecord record = records.get(0);
        Binds statement = APPEND_RECORD
                .bind("project_id", projectIds.get(0))
                .bind("id", record.id())
                .bind("timestamp", record.timestamp());
        TEXTS.forEach(text -> statement.bind(text.bind, text.value.apply(record)));
        return statement.bind("recorded_by_token", tokenIds.get(0));
    }

    /** Sets the binds that the statements for many records have in common. */
    private Binds manyRecords(Binds statement) {
        UUID[] placedWith = new UUID[records.size()];
        for (Append append : appends) {
            Arrays.fill(placedWith, append.first, append.first + append.size, append.key.id);
        }
        statement
                .bind("append_id", ofLarge(UUID[]::new, append -> append.key.id))
                .bind("append_first", ofLarge(Integer[]::new, append -> append.first + 1))
                .bind("append_last", ofLarge(Integer[]::new, append -> append.first + append.size))
                .bind("id", column(UUID[]::new, AuditRecord::id))
                .bind("placed_with", placedWith)
                .bind("timestamp", column(OffsetDateTime[]::new, AuditRecord::timestamp));
        TEXTS.forEach(text -> statement.bind(text.bind, column(String[]::new, text.value)));
        return statement.bind("recorded_by_token", tokenIds.toArray(UUID[]::new));
    }

    /** A column of the appends that have a row of their own. */
    private <T> T[] ofLarge(IntFunction<T[]> array, Function<Append, T> value) {
        return appends.stream().filter(append -> append.size > 1).map(value).toArray(array);
    }

    /** The statement that reads the places of the batch. */
    Binds readPlaces() {
        return READ_PLACES
                .bind(
                        "project_id",
                        appends.stream().map(append -> append.key.projectId).toArray(UUID[]::new))
                .bind("append_id", appends.stream().map(append -> append.key.id).toArray(UUID[]::new));
    }

    /**
     * What was stored.
     *
     * @param records the stored records, in their order
     * @param heads the last sequence id that each project has from them
     */
    record Stored(List<StoredRecord> records, Map<UUID, Long> heads) {}

    /**
     * What was stored.
     *
     * @param inserted the row of {@link #insert} or {@link #insertApart}
     * @param places the rows of {@link #readPlaces}
     * @param failed the requests that were not stored, by their index; empty if they were stored together
     */
    Stored stored(Row inserted, RowSet<Row> places, Set<Integer> failed) {
        Map<Key, Long> firstSequenceIds = new HashMap<>();
        for (Row row : places) {
            firstSequenceIds.put(
                    new Key(row.getUUID("project_id"), row.getUUID("append_id")), row.getLong("first_sequence_id"));
        }
        OffsetDateTime recordedAt = inserted.getOffsetDateTime("recorded_at");
        @Nullable Long[] values = numbers == null ? new Long[records.size()] : numbers.values(inserted);
        List<StoredRecord> stored = new ArrayList<>(records.size());
        Map<UUID, Long> heads = new HashMap<>();
        UUID namedToken = null;
        String recordedBy = null;
        for (Append append : appends) {
            if (failed.contains(append.stretch)) {
                continue;
            }
            Long first = firstSequenceIds.get(append.key);
            if (first == null) {
                throw new IllegalStateException("append " + append.key.id + " was committed without a place");
            }
            for (int i = 0; i < append.size; i++) {
                int index = append.first + i;
                UUID tokenId = tokenIds.get(index);
                if (!tokenId.equals(namedToken)) {
                    // A batch has few tokens, and often only one.
                    namedToken = tokenId;
                    recordedBy = StoredRecord.byToken(tokenId);
                }
                stored.add(new StoredRecord(records.get(index), first + i, recordedAt, values[index], recordedBy));
            }
            heads.merge(append.key.projectId, first + append.size - 1, Math::max);
        }
        return new Stored(stored, heads);
    }

    private <T extends @Nullable Object> T[] column(IntFunction<T[]> array, Function<AuditRecord, T> value) {
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
