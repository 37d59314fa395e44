package dev.annals;

import dev.annals.access.tokens.OperationEvents;
import dev.annals.derived.log.LogKeys;
import dev.annals.kernel.config.ChosenSettings;
import dev.annals.kernel.database.DatabaseFailure;
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

/** Events of the administration's feed about what is different since the last start: settings, and the keys of logs. */
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

    StartEvents(Pool pool, OperationEvents events, LogKeys keys, Config config) {
        this.pool = pool;
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

    // The thread that tells it waits for nobody else: a service may be stopped at once.
    void listening(@ObservesAsync HttpServerStart start) {
        Thread started = new Thread(this::look, "annals-start-events");
        started.setDaemon(true);
        thread = started;
        started.start();
    }

    private void look() {
        try {
            recordSettings(ChosenSettings.of(Settings.ALL, config)).await().indefinitely();
            recordKeys().await().indefinitely();
        } catch (RuntimeException e) {
            if (DatabaseFailure.onlyReads(e) || (e.getCause() != null && DatabaseFailure.onlyReads(e.getCause()))) {
                LOG.debug("What this start changes is not recorded: the database is a hot standby");
            } else if (stopping) {
                LOG.info("What this start changes is recorded by the next one: the service was stopped before.");
            } else {
                LOG.error("What this start changes was not recorded in the administration's feed.", e);
            }
        } finally {
            looked.countDown();
        }
    }

    /** Returns when this start is recorded, or could not be. */
    void awaitRecorded() throws InterruptedException {
        looked.await();
    }

    Uni<Void> recordSettings(SortedMap<String, ChosenSettings.Chosen> settings) {
        return events.found("settings", json -> {
            json.writeStartObject();
            for (Map.Entry<String, ChosenSettings.Chosen> setting : settings.entrySet()) {
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
