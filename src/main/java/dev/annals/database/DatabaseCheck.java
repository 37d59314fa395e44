package dev.annals.database;

import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.Tuple;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jboss.logging.Logger;

/** Looks at every start for what would break the guarantees of feeds without anybody noticing, and logs it. */
@ApplicationScoped
public class DatabaseCheck {

    private static final Logger LOG = Logger.getLogger(DatabaseCheck.class);
    private static final String CHECK_DATABASE = Sql.named("check_database");
    private static final int PROJECTS = 1_000;
    private static final int RECORDS = 20;

    private final Pool pool;

    DatabaseCheck(Pool pool) {
        this.pool = pool;
    }

    void start(@Observes StartupEvent event) {
        findings().subscribe().with(found -> found.forEach(LOG::warn), failure -> LOG.warn("Not checked", failure));
    }

    /**
     * What is wrong, each in a sentence that says what to do; empty where nothing is. It looks at the newest records of the
     * newest projects alone, so that it takes no longer as they grow.
     */
    Uni<List<String>> findings() {
        return pool.preparedQuery(CHECK_DATABASE)
                .execute(Tuple.of(PROJECTS, RECORDS))
                .map(rows -> findings(rows.iterator().next()));
    }

    private static List<String> findings(Row row) {
        List<String> findings = new ArrayList<>();
        if (row.getInteger(0) > 0) {
            findings.add("max_prepared_transactions is " + row.getInteger(0)
                    + ": a writer that uses PREPARE TRANSACTION and goes away blocks its project until somebody ends its"
                    + " transaction. Set it to 0, or watch pg_prepared_xacts.");
        }
        long unplaced = row.getLong(1);
        UUID project = row.getUUID(2);
        if (unplaced > 0) {
            findings.add(unplaced + " records, some of them of project " + project
                    + ", have no place in their feed and will never be read: they were inserted while triggers were off"
                    + " (session_replication_role = replica). Export them, and append them again under new ids.");
        }
        return findings;
    }
}
