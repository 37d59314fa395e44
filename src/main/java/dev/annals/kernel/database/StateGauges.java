package dev.annals.kernel.database;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Row;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Gauges for the number of rows in each state, and for the lag of the last one, if they have any. */
public final class StateGauges {

    private static final Logger LOG = Logger.getLogger(StateGauges.class);
    private static final Duration INTERVAL = Duration.ofSeconds(15);
    private static final String LAG = "lag";

    private final Database database;
    private final Sql question;
    private final List<String> states;
    private final boolean lags;
    private volatile Map<String, Long> last = Map.of();

    /**
     * Gauges that are 0 until the database has answered. The tag {@code database} names it.
     *
     * @param question a query for one row: a column for each state, and {@code lag}
     * @param what such as {@code alerts}, for {@code annals.alerts} and {@code annals.alerts.lag.records}
     * @param lag the description of the lag; null without one
     */
    public StateGauges(
            Database database,
            Sql question,
            List<String> states,
            String what,
            @Nullable String lag,
            MeterRegistry metrics) {
        this.database = database;
        this.question = question;
        this.states = states;
        this.lags = lag != null;
        for (String state : states) {
            Gauge.builder("annals." + what, this, all -> all.last(state))
                    .description(Character.toUpperCase(what.charAt(0)) + what.substring(1)
                            + " in each state, at the last look")
                    .tag("database", database.name())
                    .tag("state", state)
                    .strongReference(true)
                    .register(metrics);
        }
        if (lags) {
            Gauge.builder("annals." + what + ".lag.records", this, all -> all.last(LAG))
                    .description(lag)
                    .tag("database", database.name())
                    .strongReference(true)
                    .register(metrics);
        }
    }

    private double last(String name) {
        return last.getOrDefault(name, 0L);
    }

    public void start(Vertx vertx, BooleanSupplier stopped) {
        vertx.setPeriodic(PeriodicTask.anyPart(INTERVAL), INTERVAL.toMillis(), tick -> {
            if (!stopped.getAsBoolean()) {
                question.execute(database.polls())
                        .subscribe()
                        .with(
                                rows -> note(rows.iterator().next()),
                                failure -> LOG.debugf(failure, "%s has no answer", question));
            }
        });
    }

    private void note(Row row) {
        Map<String, Long> now = new HashMap<>();
        states.forEach(state -> now.put(state, row.getLong(state)));
        if (lags) {
            now.put(LAG, row.getLong(LAG));
        }
        last = now;
    }
}
