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
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The records that one statement writes, in appends of at most {@value #APPEND_SIZE} records of one project. Each append
 * becomes one segment of its feed.
 */
final class AppendBatch {

    private static final Sql APPEND_RECORD = Sql.named("core/append/append_record");
    private static final Sql APPEND_RECORDS = Sql.named("core/append/append_records");
    private static final Sql APPEND_APART = Sql.named("core/append/append_apart");
    private static final Sql APPEND_NUMBERED_RECORDS = Sql.named("core/append/append_numbered_records");
    private static final Sql READ_PLACES = Sql.named("core/append/read_places");

    private record Column(String bind, Function<AuditRecord, @Nullable String> value) {}

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

    /** The limit of the schema ({@code append_size}). */
    static final int APPEND_SIZE = 256;

    /** @param request its index, if each request is stored for itself */
    private record Append(Key key, int first, int size, int request) {}

    /** An append's id alone may be a client's, and exist in several projects. */
    private record Key(UUID projectId, UUID id) {}

    private final List<AuditRecord> records = new ArrayList<>();
    private final List<UUID> projectIds = new ArrayList<>();
    private final List<UUID> tokenIds = new ArrayList<>();
    /** The first record of each request, and the number of records. */
    private final List<Integer> begins = new ArrayList<>();

    private final List<Append> appends = new ArrayList<>();
    /** Null if no record asks for a number. */
    private final @Nullable Numbers numbers;

    private AppendBatch(List<AppendRequest> requests, SequentialGuid guids, boolean each) {
        for (AppendRequest request : requests) {
            List<AuditRecord> missing = request.missing();
            begins.add(records.size());
            records.addAll(missing);
            projectIds.addAll(Collections.nCopies(missing.size(), request.key.projectId()));
            tokenIds.addAll(Collections.nCopies(missing.size(), request.tokenId));
        }
        begins.add(records.size());
        this.numbers = each ? null : Numbers.of(records);
        if (each) {
            for (int i = 0; i < requests.size(); i++) {
                divide(begins.get(i), begins.get(i + 1), i, guids);
            }
        } else {
            int begin = 0;
            for (int i = 1; i <= records.size(); i++) {
                if (i == records.size() || !projectIds.get(i).equals(projectIds.get(begin))) {
                    divide(begin, i, 0, guids);
                    begin = i;
                }
            }
        }
    }

    /**
     * Makes appends of about equal size, so that none has a single record behind others. An append of one has no row: its
     * record's trigger would place it before the others.
     */
    private void divide(int begin, int end, int request, SequentialGuid guids) {
        UUID projectId = projectIds.get(begin);
        int records = end - begin;
        int parts = (records + APPEND_SIZE - 1) / APPEND_SIZE;
        for (int i = 0; i < parts; i++) {
            int first = begin + records * i / parts;
            int size = begin + records * (i + 1) / parts - first;
            UUID id = size == 1 ? this.records.get(first).id() : guids.next();
            appends.add(new Append(new Key(projectId, id), first, size, request));
        }
    }

    /**
     * For {@link #insert}: all or none are stored.
     *
     * @param requests those of one project stand together. If any record asks for a number, all are of one project
     */
    static AppendBatch whole(List<AppendRequest> requests, SequentialGuid guids) {
        return new AppendBatch(requests, guids, false);
    }

    /**
     * For {@link #insertEach}: each request is stored for itself.
     *
     * @param requests without numbers, each with a missing record
     */
    static AppendBatch each(List<AppendRequest> requests, SequentialGuid guids) {
        return new AppendBatch(requests, guids, true);
    }

    /**
     * The statement that writes the batch.
     *
     * @param lockTimeout for each lock of a batch with numbers; others use their session's limit
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
                .bind("append_project", ofRows(UUID[]::new, append -> append.key.projectId));
    }

    Binds insertEach() {
        int requests = begins.size() - 1;
        return manyRecords(APPEND_APART
                .bind(
                        "request_first",
                        begins.stream().limit(requests).map(begin -> begin + 1).toArray(Integer[]::new))
                .bind("request_last", begins.stream().skip(1).toArray(Integer[]::new))
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

    private Binds manyRecords(Binds statement) {
        UUID[] placedWith = new UUID[records.size()];
        for (Append append : appends) {
            Arrays.fill(placedWith, append.first, append.first + append.size, append.key.id);
        }
        statement
                .bind("append_id", ofRows(UUID[]::new, append -> append.key.id))
                .bind("append_first", ofRows(Integer[]::new, append -> append.first + 1))
                .bind("append_last", ofRows(Integer[]::new, append -> append.first + append.size))
                .bind("id", column(UUID[]::new, AuditRecord::id))
                .bind("placed_with", placedWith)
                .bind("timestamp", column(OffsetDateTime[]::new, AuditRecord::timestamp));
        TEXTS.forEach(text -> statement.bind(text.bind, column(String[]::new, text.value)));
        return statement.bind("recorded_by_token", tokenIds.toArray(UUID[]::new));
    }

    /** A column of the appends that have rows. */
    private <T> T[] ofRows(IntFunction<T[]> array, Function<Append, T> value) {
        return appends.stream().filter(append -> append.size > 1).map(value).toArray(array);
    }

    Binds readPlaces() {
        return READ_PLACES
                .bind(
                        "project_id",
                        appends.stream().map(append -> append.key.projectId).toArray(UUID[]::new))
                .bind("append_id", appends.stream().map(append -> append.key.id).toArray(UUID[]::new));
    }

    /**
     * The stored records.
     *
     * @param heads the last sequence id of each project
     */
    record Stored(List<StoredRecord> records, Map<UUID, Long> heads) {}

    /**
     * Reads the stored records from the results.
     *
     * @param failed the requests that {@link #insertEach} did not store
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
            if (failed.contains(append.request)) {
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

    /** The numbers that records ask for, in the order of the batch. */
    private static final class Numbers {

        private final @Nullable String[] sequences;
        /** The earlier records that name the same sequence; null if the record names none. */
        private final @Nullable Long[] places;

        private final Map<String, Long> counts = new TreeMap<>();

        private Numbers(List<AuditRecord> records) {
            sequences = new String[records.size()];
            places = new Long[records.size()];
            for (int i = 0; i < sequences.length; i++) {
                String sequence = records.get(i).numberSequence();
                sequences[i] = sequence;
                if (sequence != null) {
                    places[i] = counts.merge(sequence, 1L, Long::sum) - 1;
                }
            }
        }

        static @Nullable Numbers of(List<AuditRecord> records) {
            for (AuditRecord record : records) {
                if (record.numberSequence() != null) {
                    return new Numbers(records);
                }
            }
            return null;
        }

        Binds bind(Binds binds) {
            return binds.bind("number_sequence", sequences)
                    .bind("number_place", places)
                    .bind("sequence_name", counts.keySet().toArray(String[]::new))
                    .bind("sequence_count", counts.values().toArray(Long[]::new));
        }

        @Nullable
        Long[] values(Row inserted) {
            String[] names = inserted.getArrayOfStrings("sequences");
            Long[] firsts = inserted.getArrayOfLongs("first_values");
            Map<String, Long> firstValues = new HashMap<>();
            for (int i = 0; i < names.length; i++) {
                firstValues.put(names[i], firsts[i]);
            }
            @Nullable Long[] values = new Long[sequences.length];
            for (int i = 0; i < values.length; i++) {
                String sequence = sequences[i];
                Long place = places[i];
                if (sequence != null && place != null) {
                    Long first = firstValues.get(sequence);
                    if (first == null) {
                        throw new IllegalStateException("records were committed without numbers of " + sequence);
                    }
                    values[i] = first + place;
                }
            }
            return values;
        }
    }
}
