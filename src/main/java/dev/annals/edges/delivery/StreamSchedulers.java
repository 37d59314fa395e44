package dev.annals.edges.delivery;

import dev.annals.access.places.Places;
import dev.annals.core.feed.FeedReader;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PerDatabase;
import dev.annals.kernel.memory.MemoryBudget;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.ShutdownDelayInitiatedEvent;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.jboss.logging.Logger;

/** A {@link StreamScheduler} for each database. */
@ApplicationScoped
class StreamSchedulers {

    private static final Logger LOG = Logger.getLogger(StreamSchedulers.class);
    private static final Duration STOP_LIMIT = Duration.ofSeconds(2);

    private final Places places;
    private final PerDatabase<StreamScheduler> databases;
    private final List<MemberFeeds> members;

    StreamSchedulers(
            Places places,
            Databases databases,
            FeedReader reader,
            MemoryBudget memory,
            SinkFactory sinks,
            StreamStore streams,
            Vertx vertx,
            DeliveryConfig config,
            StreamEncodings encodings,
            MeterRegistry metrics) {
        this.places = places;
        this.members = config.enabled()
                ? databases.members().stream()
                        .map(member -> new MemberFeeds(member, databases.home(), places))
                        .toList()
                : List.of();
        this.databases = new PerDatabase<>(
                databases,
                database -> new StreamScheduler(
                        database,
                        database == databases.home(),
                        places,
                        reader,
                        memory,
                        sinks,
                        streams,
                        vertx,
                        config,
                        encodings,
                        metrics));
    }

    void start(@Observes StartupEvent event) {
        databases.all().forEach(StreamScheduler::start);
        members.forEach(MemberFeeds::start);
    }

    void stop(@Observes ShutdownDelayInitiatedEvent event) {
        members.forEach(MemberFeeds::stop);
        databases.all().forEach(StreamScheduler::stop);
    }

    void stop(@Observes ShutdownEvent event) {
        List<Uni<Void>> released =
                databases.all().stream().map(StreamScheduler::release).toList();
        try {
            Uni.join().all(released).andCollectFailures().await().atMost(STOP_LIMIT);
        } catch (RuntimeException e) {
            LOG.debug("The leases end by themselves", e);
        }
    }

    StreamScheduler of(UUID projectId) {
        return databases.of(places.of(projectId));
    }
}
