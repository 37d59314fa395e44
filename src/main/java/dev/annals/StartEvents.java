package dev.annals;

import dev.annals.access.tokens.OperationEvents;
import dev.annals.derived.log.LogKeys;
import dev.annals.kernel.config.ChangedSettings;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.Sql;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.vertx.http.HttpServerStart;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.enterprise.event.ObservesAsync;
import java.util.Map;
import java.util.SortedMap;
import java.util.concurrent.CountDownLatch;
import org.eclipse.microprofile.config.Config;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Records in the administration's feed which settings and keys of logs changed since the last start. */
@ApplicationScoped
class StartEvents {

    private static final Logger LOG = Logger.getLogger(StartEvents.class);

    private static final Sql FIND_ADMINISTRATION = Sql.named("access/tokens/find_administration");

    private final Pool pool;
    private final OperationEvents events;
    private final LogKeys keys;
    private final Config config;
    private final CountDownLatch looked = new CountDownLatch(1);
    private volatile boolean stopping;
    private volatile @Nullable Thread thread;

    StartEvents(Databases databases, OperationEvents events, LogKeys keys, Config config) {
        this.pool = databases.home().pool();
        this.events = events;
        this.keys = keys;
        this.config = config;
    }

    void stop(@Observes ShutdownEvent event) {
        stopping = true;
        Thread started = thread;
        if (started != null) {
            started.interrupt();
        }
    }

    // In a thread of its own, so that the service can be stopped at once.
    void listening(@ObservesAsync HttpServerStart start) {
        Thread started = new Thread(this::look, "annals-start-events");
        started.setDaemon(true);
        thread = started;
        started.start();
    }

    private void look() {
        try {
            recordSettings(ChangedSettings.of(Settings.ALL, config)).await().indefinitely();
            recordKeys().await().indefinitely();
        } catch (RuntimeException e) {
            if (DatabaseFailure.onlyReads(e) || (e.getCause() != null && DatabaseFailure.onlyReads(e.getCause()))) {
                LOG.debug("Changes since the last start are not recorded: the database is a hot standby.");
            } else if (stopping) {
                LOG.info(
                        "The service was stopped before it recorded changes since the last start. The next start records them.");
            } else {
                LOG.error("Changes since the last start could not be recorded in the administration's feed.", e);
            }
        } finally {
            looked.countDown();
        }
    }

    /** Returns when this start was recorded, or has failed to be. */
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
