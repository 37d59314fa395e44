package dev.annals.access.places;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.Sql;
import io.smallrye.mutiny.Uni;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The state of each database now. */
@Singleton
public class DatabaseStates {

    private static final Sql DESCRIBE_DATABASE = Sql.named("access/places/describe_database");
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private final Databases databases;

    DatabaseStates(Databases databases) {
        this.databases = databases;
    }

    /** @param facts null if the database does not answer */
    record State(Database database, boolean home, @Nullable Facts facts) {

        void write(JsonGenerator json) throws IOException {
            json.writeStartObject();
            json.writeStringField("name", database.name());
            json.writeBooleanField("home", home);
            json.writeBooleanField("pinned", database.pinned());
            json.writeBooleanField("reachable", facts != null);
            json.writeObjectField("projects", facts == null ? null : facts.projects);
            json.writeObjectField("suspended", facts == null ? null : facts.suspended);
            json.writeObjectField("records", facts == null ? null : facts.records);
            json.writeObjectField("bytes", facts == null ? null : facts.bytes);
            json.writeStringField("schema_version", facts == null ? null : facts.version);
            json.writeEndObject();
        }
    }

    /**
     * Figures.
     *
     * @param records about
     * @param bytes null if the service may not know
     */
    record Facts(
            long projects,
            long suspended,
            long records,
            @Nullable Long bytes,
            @Nullable String version) {}

    /** Reads the states of all databases, home first. */
    Uni<List<State>> all() {
        return Uni.join()
                .all(databases.all().stream().map(this::state).toList())
                .andFailFast();
    }

    private Uni<State> state(Database database) {
        boolean home = database == databases.home();
        return DESCRIBE_DATABASE
                .execute(database.reads())
                .map(rows -> rows.iterator().next())
                .map(row -> new State(
                        database,
                        home,
                        new Facts(
                                row.getLong("projects"),
                                row.getLong("suspended"),
                                row.getLong("records"),
                                row.getLong("bytes"),
                                row.getString("version"))))
                .ifNoItem()
                .after(PATIENCE)
                .fail()
                .onFailure()
                .recoverWithItem(new State(database, home, null));
    }

    /** The database with the fewest records, of those that answer and are not pinned; of several, the one with the fewest projects. */
    public Uni<Database> emptiest() {
        if (databases.members().isEmpty()) {
            return Uni.createFrom().item(databases.home());
        }
        return all().map(states -> states.stream()
                .filter(state -> state.facts != null && !state.database.pinned())
                .min(Comparator.comparingLong((State state) -> requireNonNull(state.facts).records)
                        .thenComparingLong(state -> requireNonNull(state.facts).projects))
                .map(State::database)
                .orElse(databases.home()));
    }
}
