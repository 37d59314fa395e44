package dev.annals;

import dev.annals.access.tokens.OperationEvents;
import dev.annals.derived.log.LogKeys;
import dev.annals.kernel.config.ChangedSettings;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PeriodicTask;
import dev.annals.kernel.database.Sql;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.vertx.http.HttpServerStart;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.enterprise.event.ObservesAsync;
import java.time.Duration;
import java.util.Map;
import java.util.SortedMap;
import java.util.concurrent.CountDownLatch;
import org.eclipse.microprofile.config.Config;
import org.jboss.logging.Logger;

/** Records in the administration's feed which settings and keys of logs changed since the last start. */
@ApplicationScoped
class StartEvents {

    private static final Logger LOG = Logger.getLogger(StartEvents.class);

    private static final Duration RETRY = Duration.ofSeconds(1);
    private static final Sql FIND_ADMINISTRATION = Sql.named("access/tokens/find_administration");

    private final Pool pool;
    private final OperationEvents events;
    private final LogKeys keys;
    private final Config config;
    private final CountDownLatch looked = new CountDownLatch(1);
    private final PeriodicTask task;

    StartEvents(Databases databases, OperationEvents events, LogKeys keys, Config config) {
        this.pool = databases.home().pool();
        this.events = events;
        this.keys = keys;
        this.config = config;
        this.task = new PeriodicTask(this::record, RETRY, Duration.ZERO, LOG, "The events of this start");
    }

    void stop(@Observes ShutdownEvent event) {
        task.stop();
        if (looked.getCount() > 0) {
            LOG.info(
                    "The service was stopped before it recorded changes since the last start. The next start records them.");
        }
    }

    void listening(@ObservesAsync HttpServerStart start) {
        task.start();
    }

    /** Ends its task when it has recorded them: home may be away when an instance starts. */
    private Uni<Boolean> record() {
        return Uni.createFrom()
                .deferred(() -> recordSettings(ChangedSettings.of(Settings.ALL, config)))
                .chain(this::recordKeys)
                .onFailure(StartEvents::isStandby)
                .recoverWithNull()
                .invoke(() -> {
                    task.stop();
                    looked.countDown();
                })
                .replaceWith(false);
    }

    private static boolean isStandby(Throwable failure) {
        return DatabaseFailure.onlyReads(failure)
                || (failure.getCause() != null && DatabaseFailure.onlyReads(failure.getCause()));
    }

    /** Returns when this start was recorded, or needs no record. */
    void awaitRecorded() throws InterruptedException {
        looked.await();
    }

    Uni<Void> recordSettings(SortedMap<String, ChangedSettings.Value> settings) {
        return events.found("settings", json -> {
            json.writeStartObject();
            for (Map.Entry<String, ChangedSettings.Value> setting : settings.entrySet()) {
                json.writeFieldName(setting.getKey());
                if (setting.getValue().secret()) {
                    json.writeStartObject();
                    json.writeStringField("secret", setting.getValue().text());
                    json.writeEndObject();
                } else {
                    json.writeString(setting.getValue().text());
                }
            }
            json.writeEndObject();
        });
    }

    private Uni<Void> recordKeys() {
        return DatabaseFailure.retried(FIND_ADMINISTRATION.execute(pool))
                .map(rows -> keys.verifiers(rows.iterator().next().getUUID("id")))
                .chain(vkeys -> events.found("log_keys", json -> {
                    json.writeStartObject();
                    if (!vkeys.isEmpty()) {
                        json.writeArrayFieldStart("vkeys");
                        for (String vkey : vkeys) {
                            json.writeString(vkey);
                        }
                        json.writeEndArray();
                    }
                    json.writeEndObject();
                }));
    }
}
