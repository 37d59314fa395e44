package dev.annals.edges.intake;

import dev.annals.access.caller.Caller;
import dev.annals.core.append.AppendBounds;
import dev.annals.core.append.Appends;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.RecordReader;
import dev.annals.edges.intake.LogRecord.Refusal;
import dev.annals.edges.intake.LogRecord.Slice;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Uni;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * Stores the log records of one request in their order: a chunk is read, mapped and appended before the next one is read. If the service
 * fails between chunks, some log records are stored. When the sender repeats the request, they are recognized.
 *
 * <p>Everything runs on the request's event loop.
 */
final class LogBatch {

    /** Further refused log records are only counted. */
    private static final int NAMED_REFUSALS = 20;

    private static final int MAX_REASON = 200;

    private final Caller caller;
    private final LogEncoding encoding;
    private final byte[] body;
    private final List<Slice> slices;
    private final LogMapping mapping;
    private final Appends appends;
    private final AppendBounds bounds;
    private final Executor loop;
    private final CompletableFuture<Refused> done = new CompletableFuture<>();
    private final TreeMap<Integer, String> named = new TreeMap<>();
    private int refused;
    private int at;

    LogBatch(
            Caller caller,
            LogEncoding encoding,
            byte[] body,
            List<Slice> slices,
            LogMapping mapping,
            Appends appends,
            AppendBounds bounds,
            Executor loop) {
        this.caller = caller;
        this.encoding = encoding;
        this.body = body;
        this.slices = slices;
        this.mapping = mapping;
        this.appends = appends;
        this.bounds = bounds;
        this.loop = loop;
    }

    /** The most bytes of records in memory at a time. */
    static long mostBytes(AppendBounds bounds) {
        return bounds.bulkBytes() + RecordReader.MAX_SENT_BYTES;
    }

    /**
     * The refused log records: their number, and what is wrong with the first of them.
     *
     * @param message the reasons of the first refusals
     */
    record Refused(int count, String message) {}

    /** Fails with a problem if the database or the queue takes no records now. */
    Uni<Refused> store() {
        return Uni.createFrom().completionStage(() -> {
            storeNext();
            return done;
        });
    }

    /** Several log records may be the same record; it has the indexes of all of them. */
    private static final class Chunk {
        final List<AuditRecord> records = new ArrayList<>();
        final List<List<Integer>> indexes = new ArrayList<>();
        final Map<UUID, Integer> byId = new HashMap<>();
        long bytes;

        void add(AuditRecord record, int index, long length) throws Refusal {
            Integer there = byId.putIfAbsent(record.id(), records.size());
            if (there == null) {
                records.add(record);
                indexes.add(new ArrayList<>(List.of(index)));
                bytes += length;
            } else if (record.sameContentAs(records.get(there))) {
                indexes.get(there).add(index);
            } else {
                throw new Refusal("its audit.id is that of log record "
                        + indexes.get(there).get(0) + ", which has other content");
            }
        }
    }

    private void storeNext() {
        try {
            Chunk chunk = new Chunk();
            while (at < slices.size()
                    && chunk.records.size() < bounds.bulkRecords()
                    && chunk.bytes < bounds.bulkBytes()) {
                Slice slice = slices.get(at);
                try {
                    chunk.add(mapping.record(encoding.read(body, slice), slice.shared()), at, slice.length());
                } catch (Refusal e) {
                    refuse(at, e.reason());
                }
                at++;
            }
            append(chunk);
        } catch (RuntimeException e) {
            done.completeExceptionally(e);
        }
    }

    private void append(Chunk chunk) {
        appends.appendEach(caller, "otlp", chunk.records, chunk.bytes)
                .emitOn(loop)
                .subscribe()
                .with(
                        problems -> {
                            problems.forEach((place, problem) ->
                                    chunk.indexes.get(place).forEach(index -> refuse(index, reason(problem))));
                            if (at < slices.size()) {
                                storeNext();
                            } else {
                                done.complete(new Refused(refused, message()));
                            }
                        },
                        done::completeExceptionally);
    }

    private static String reason(Problem problem) {
        if (problem.type() == ProblemType.RECORD_ID_TAKEN) {
            return "its audit.id is that of a stored record, which has other content";
        }
        return LogMapping.reason(problem);
    }

    private void refuse(int index, String reason) {
        refused++;
        named.put(index, shown(reason));
        if (named.size() > NAMED_REFUSALS) {
            named.pollLastEntry();
        }
    }

    /** On one line and shortened: a reason may contain names from the sender. */
    private static String shown(String reason) {
        StringBuilder shown = new StringBuilder();
        reason.codePoints()
                .limit(MAX_REASON)
                .map(c -> Character.isISOControl(c) || (c >= 0xD800 && c <= 0xDFFF) ? '?' : c)
                .forEach(shown::appendCodePoint);
        return reason.codePointCount(0, reason.length()) > MAX_REASON ? shown + "…" : shown.toString();
    }

    private String message() {
        StringBuilder message = new StringBuilder();
        named.forEach((index, reason) -> message.append(message.isEmpty() ? "" : "; ")
                .append("log record ")
                .append(index)
                .append(": ")
                .append(reason));
        if (refused > named.size()) {
            message.append("; and ").append(refused - named.size()).append(" more");
        }
        return message.toString();
    }
}
