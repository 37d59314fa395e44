package dev.annals.core.append;

import dev.annals.access.caller.Caller;
import dev.annals.access.limits.Limit;
import dev.annals.access.limits.Usage;
import dev.annals.access.places.Places;
import dev.annals.core.append.AppendOutcome.Reason;
import dev.annals.core.append.AppendOutcome.Rejection;
import dev.annals.core.feed.FeedLinks;
import dev.annals.core.feed.HeadWatch;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.RecordReader;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PerDatabase;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.FieldError;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.http.RequestBodies;
import dev.annals.kernel.http.RequestParameters;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.ShutdownEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.annotation.PreDestroy;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.ToDoubleFunction;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Appends the records of REST, CloudEvents and OTLP. */
@Singleton
public class Appends {

    /** About the memory that a record needs in addition to its JSON. */
    public static final int RECORD_OVERHEAD_BYTES = 256;

    private static final Logger LOG = Logger.getLogger(Appends.class);

    private final Queues queues;
    private final CatalogueCheck catalogue;
    private final FeedLinks links;
    private final RequestBodies bodies;
    private final Usage usage;
    private final MeterRegistry metrics;

    Appends(
            Queues queues,
            CatalogueCheck catalogue,
            FeedLinks links,
            RequestBodies bodies,
            Usage usage,
            MeterRegistry metrics) {
        this.queues = queues;
        this.catalogue = catalogue;
        this.links = links;
        this.bodies = bodies;
        this.usage = usage;
        this.metrics = metrics;
    }

    /** The queues of each database, which have writers and connections of their own: a batch never has requests of two databases. */
    @Singleton
    static class Queues {

        private final Places places;
        private final PerDatabase<Writing> databases;

        record Writing(AppendStore store, AppendQueue queues) {}

        Queues(
                Places places,
                Databases databases,
                SequentialGuid guids,
                HeadWatch heads,
                AppendConfig config,
                AppendBounds bounds,
                AnnalsConfig annals,
                MeterRegistry metrics) {
            this.places = places;
            AppendQueue.Room room = new AppendQueue.Room(
                    config.totalQueueBytes(), databases.all().size());
            Duration lockTimeout = annals.database().lockTimeout();
            this.databases = new PerDatabase<>(databases, database -> {
                AppendStore store =
                        new AppendStore(database, places, this::store, guids, heads, config, bounds, lockTimeout);
                AppendQueue queues = new AppendQueue(store, config.writers(), bounds, room, System::nanoTime);
                gauge(metrics, "bytes", database, queues, AppendQueue::bytes);
                gauge(metrics, "projects", database, queues, AppendQueue::size);
                return new Writing(store, queues);
            });
        }

        private static void gauge(
                MeterRegistry metrics,
                String name,
                Database database,
                AppendQueue queues,
                ToDoubleFunction<AppendQueue> value) {
            Gauge.builder("annals.append.queue." + name, queues, value)
                    .tag("database", database.name())
                    .register(metrics);
        }

        /** As {@link AppendQueue#append}. */
        CompletableFuture<AppendOutcome> append(AppendRequest request) {
            return request.queue(() -> of(request.key.projectId()).queues()).append(request);
        }

        Writing of(UUID projectId) {
            return databases.of(places.of(projectId));
        }

        private AppendStore store(Database database) {
            return databases.of(database).store();
        }

        /** Waiting requests are still written and answered before the pools close. */
        void stop(@Observes ShutdownEvent event) {
            databases.all().forEach(writing -> writing.queues().stop());
        }

        @PreDestroy
        void close() {
            databases.all().forEach(writing -> writing.store().close());
        }
    }

    /**
     * A kind of body that is appended whole or not at all.
     *
     * @param via its name in metrics
     * @param otherwise the advice for a body of another type
     * @param read fails with a problem
     * @param pointer the JSON pointer of a record, by its index
     * @param batch whether the answer has places rather than the only record
     */
    public record Form(
            String via,
            MediaType type,
            String otherwise,
            int maxBytes,
            Function<byte[], List<AuditRecord>> read,
            IntFunction<String> pointer,
            boolean batch) {}

    /**
     * @param records each id once
     * @param places the index in {@code records} of each record of the body
     */
    private record Distinct(List<AuditRecord> records, List<Integer> places) {

        static Distinct of(List<AuditRecord> read) {
            Map<UUID, Integer> byId = new HashMap<>();
            List<AuditRecord> records = new ArrayList<>(read.size());
            List<Integer> places = new ArrayList<>(read.size());
            for (AuditRecord record : read) {
                Integer there = byId.putIfAbsent(record.id(), records.size());
                places.add(there == null ? records.size() : there);
                if (there == null) {
                    records.add(record);
                }
            }
            return new Distinct(records, places);
        }

        List<StoredRecord> each(List<StoredRecord> stored) {
            return places.stream().map(stored::get).toList();
        }
    }

    public Uni<Response> append(HttpServerRequest http, UriInfo uri, ContainerRequestContext request, Form form) {
        Caller caller = Caller.of(request);
        RequestParameters.requireKnown(uri.getQueryParameters(), List.of());
        // Before the body is read in vain.
        usage.requireRoom(caller);
        return bodies.read(http, form.type(), form.otherwise(), form.maxBytes(), caller.projectId(), body -> {
            List<AuditRecord> read = form.read().apply(body);
            requireClock(caller, read, form.pointer());
            Distinct distinct = Distinct.of(read);
            long bytes = body.length + (long) read.size() * RECORD_OVERHEAD_BYTES;
            usage.append(caller, read.size(), body.length);
            AppendRequest append = new AppendRequest(caller.projectId(), caller.tokenId(), distinct.records(), bytes);
            return Uni.createFrom()
                    .completionStage(() -> append(caller, append))
                    .invoke(outcome -> count(outcome, form.via(), body.length))
                    .map(outcome -> answer(http, outcome, form, distinct));
        });
    }

    /**
     * Appends the records that can be stored, in their order and without counting them against limits.
     *
     * @param records with ids that differ
     * @param bytes about their length as JSON
     * @return the problems of the others, by their index. Fails if no records are accepted now; some may have been stored then
     */
    public Uni<Map<Integer, Problem>> appendEach(Caller caller, String via, List<AuditRecord> records, long bytes) {
        List<Placed> all = new ArrayList<>(records.size());
        Map<Integer, Problem> refused = new TreeMap<>();
        for (int i = 0; i < records.size(); i++) {
            FieldError ahead = ahead(caller, records.get(i), "");
            if (ahead == null) {
                all.add(new Placed(i, records.get(i)));
            } else {
                refused.put(i, isAhead("The record is of the future, so it was not stored.", List.of(ahead)));
            }
        }
        return appendEach(caller, via, all, bytes, refused).replaceWith(refused);
    }

    private static void requireClock(Caller caller, List<AuditRecord> records, IntFunction<String> pointer) {
        List<FieldError> errors = new ArrayList<>();
        for (int i = 0; i < records.size() && errors.size() < RecordReader.MAX_ERRORS && caller.isLimited(); i++) {
            FieldError error = ahead(caller, records.get(i), pointer.apply(i));
            if (error != null) {
                errors.add(error);
            }
        }
        if (!errors.isEmpty()) {
            throw new ProblemException(
                    isAhead("Records are of the future, so nothing was stored: errors names them.", errors));
        }
    }

    static Problem isAhead(String detail, List<FieldError> errors) {
        return Problem.of(ProblemType.INVALID_RECORD, detail).withErrors(errors);
    }

    /**
     * The database checks the project's bound again, by its own clock and for plain SQL.
     *
     * @param pointer of the record
     * @return null if the record's time is no further ahead than the project and the token may be
     */
    static @Nullable FieldError ahead(Caller caller, AuditRecord record, String pointer) {
        long most = caller.isLimited() ? Usage.most(caller, Limit.SECONDS_AHEAD) : Long.MAX_VALUE;
        if (most == Long.MAX_VALUE) {
            return null;
        }
        OffsetDateTime now = OffsetDateTime.now(ZoneOffset.UTC);
        return record.timestamp().isAfter(now.plusSeconds(most))
                ? new FieldError(
                        pointer + "/timestamp",
                        "is " + Duration.between(now, record.timestamp()).toSeconds()
                                + " seconds ahead of the service's clock, and may be at most " + most
                                + ": correct the clock of the writer")
                : null;
    }

    private record Placed(int index, AuditRecord record) {}

    private Uni<Void> appendEach(
            Caller caller, String via, List<Placed> placed, long bytes, Map<Integer, Problem> refused) {
        if (placed.isEmpty()) {
            return Uni.createFrom().voidItem();
        }
        AppendRequest append = new AppendRequest(
                caller.projectId(),
                caller.tokenId(),
                placed.stream().map(Placed::record).toList(),
                bytes + (long) placed.size() * RECORD_OVERHEAD_BYTES);
        return Uni.createFrom()
                .completionStage(() -> append(caller, append))
                .invoke(outcome -> count(outcome, via, bytes))
                .chain(outcome -> {
                    List<List<Placed>> left = settle(outcome, placed, refused);
                    Uni<Void> done = Uni.createFrom().voidItem();
                    for (List<Placed> some : left) {
                        done = done.chain(
                                () -> appendEach(caller, via, some, bytes * some.size() / placed.size(), refused));
                    }
                    return done;
                });
    }

    /** Returns the records that may still be stored, in parts. */
    private static List<List<Placed>> settle(
            AppendOutcome outcome, List<Placed> placed, Map<Integer, Problem> refused) {
        if (outcome instanceof AppendOutcome.Rejected rejected) {
            List<Placed> left = new ArrayList<>(placed);
            for (AppendOutcome.Rejection rejection : rejected.rejections()) {
                Placed one = placed.get(rejection.index());
                refused.put(one.index(), rejected.ofLine(rejection));
                left.remove(one);
            }
            return List.of(left);
        }
        if (outcome instanceof AppendOutcome.RejectedByDatabase rejected) {
            if (placed.size() == 1) {
                refused.put(placed.get(0).index(), rejected.problem());
                return List.of();
            }
            // The database does not name the record that it refuses.
            int half = placed.size() / 2;
            return List.of(placed.subList(0, half), placed.subList(half, placed.size()));
        }
        outcome.orThrow(index -> "");
        return List.of();
    }

    /** Never ends exceptionally. */
    CompletionStage<AppendOutcome> append(Caller caller, AppendRequest append) {
        if (caller.catalogueVersion() == 0) {
            return queues.append(append);
        }
        return catalogue
                .refused(caller, append.records)
                .subscribeAsCompletionStage()
                .handle((refused, failure) -> append(append, refused, failure))
                .thenCompose(outcome -> outcome);
    }

    private CompletionStage<AppendOutcome> append(
            AppendRequest append, @Nullable List<Rejection> refused, @Nullable Throwable failure) {
        if (refused == null) {
            LOG.warn("A catalogue of actions could not be read", failure);
            append.fail(
                    new AppendOutcome.Unavailable(
                            "The project's catalogue of actions could not be read, so nothing was stored. Send the request again."));
        } else if (refused.isEmpty()) {
            return queues.append(append);
        } else {
            append.fail(new AppendOutcome.Rejected(Reason.MISFIT, refused));
        }
        return append.outcome;
    }

    static final class Counters {

        private final Counter records;
        private final Counter bytes;

        private Counters(String via, MeterRegistry metrics) {
            this.records = Counter.builder("annals.appended.records")
                    .description("Records that were stored")
                    .tag("via", via)
                    .register(metrics);
            this.bytes = Counter.builder("annals.appended.bytes")
                    .description("JSON of the records that were stored, unpacked")
                    .tag("via", via)
                    .register(metrics);
        }

        void stored(int added, int all, long size) {
            records.increment(added);
            bytes.increment((double) size * added / all);
        }
    }

    /**
     * The counters of one kind of request.
     *
     * @param via {@code one}, {@code batch}, {@code import}, {@code cloudevents} or {@code otlp}
     */
    Counters counters(String via) {
        return new Counters(via, metrics);
    }

    private void count(AppendOutcome outcome, String via, long size) {
        if (outcome instanceof AppendOutcome.Stored stored) {
            counters(via).stored(stored.added(), stored.records().size(), size);
        }
    }

    private Response answer(HttpServerRequest http, AppendOutcome outcome, Form form, Distinct distinct) {
        AppendOutcome.Stored stored =
                outcome.orThrow(index -> form.pointer().apply(distinct.places().indexOf(index)));
        List<StoredRecord> records = distinct.each(stored.records());
        // The service may have drawn its id again.
        UUID first = records.get(0).record().id();
        return Response.status(stored.added() > 0 ? Response.Status.CREATED : Response.Status.OK)
                .header(HttpHeaders.LOCATION, links.record(http, first))
                .entity(form.batch() ? places(records) : RecordEncoder.toBytes(records.get(0)))
                .build();
    }

    private static byte[] places(List<StoredRecord> records) {
        return JsonBody.toBytes(16 + records.size() * 80, json -> {
            json.writeStartObject();
            json.writeArrayFieldStart("results");
            for (StoredRecord record : records) {
                json.writeStartObject();
                json.writeStringField("id", record.record().id().toString());
                json.writeNumberField("sequence_id", record.sequenceId());
                RecordEncoder.number(record, json);
                json.writeEndObject();
            }
            json.writeEndArray();
            json.writeEndObject();
        });
    }
}
