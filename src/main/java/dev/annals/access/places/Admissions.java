package dev.annals.access.places;

import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PeriodicTask;
import dev.annals.kernel.database.Sql;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.annotation.Priority;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.Stream;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Finds databases that were restored or promoted, and admits them: their projects are compared with what the others say. Home and its
 * members note how far the others have come, so that one that was set back is found although its name is the same.
 */
@Singleton
class Admissions {

    private static final Logger LOG = Logger.getLogger(Admissions.class);
    private static final Sql READ_ENDS = Sql.named("access/places/read_ends");
    private static final Sql LOOK_AT_DATABASE = Sql.named("access/places/look_at_database");
    private static final Sql READ_CLAIMS = Sql.named("access/places/read_claims");
    private static final Sql ADMIT = Sql.named("access/places/admit");
    private static final Sql NOTE_END = Sql.named("access/places/note_end");
    private static final String NO_CLAIMS = "[]";
    private static final int AFTER_PLACES = 20;
    private static final Duration INTERVAL = Duration.ofSeconds(2);
    private static final Duration RETRY_DELAY = Duration.ofSeconds(1);
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final Duration START_LIMIT = Duration.ofSeconds(15);
    private static final Duration NOTED_EACH = Duration.ofMinutes(1);
    /** A commit wakes the loops of all databases in its server. */
    private static final Duration SAME_NOTED_EACH = Duration.ofHours(1);

    private final Databases databases;
    private final PeriodicTask looks =
            new PeriodicTask(() -> look().replaceWith(false), INTERVAL, RETRY_DELAY, LOG, "Comparison of databases");

    Admissions(Databases databases) {
        this.databases = databases;
    }

    void start(@Observes @Priority(AFTER_PLACES) StartupEvent event) {
        if (databases.members().isEmpty()) {
            return;
        }
        try {
            look().await().atMost(START_LIMIT);
        } catch (RuntimeException e) {
            LOG.warnf("The databases were not compared, and are compared again: %s", e);
        }
        looks.start();
    }

    void stop(@Observes ShutdownEvent event) {
        looks.stop();
    }

    /** @param noted null if nothing was noted */
    private record End(long head, int mark, @Nullable OffsetDateTime noted) {

        boolean isOld(Row now) {
            boolean same = head == now.getLong("head") && mark == now.getInteger("mark");
            return noted == null
                    || noted.isBefore(OffsetDateTime.now(noted.getOffset()).minus(same ? SAME_NOTED_EACH : NOTED_EACH));
        }
    }

    /** @param home what it has noted of home; null if nothing */
    private record State(
            Database database, Row row, @Nullable End home) {

        boolean needsAdmission() {
            return !Boolean.TRUE.equals(row.getBoolean("admitted")) || setBack();
        }

        boolean setBack() {
            return !row.getBoolean("continues");
        }
    }

    Uni<Void> look() {
        return READ_ENDS.execute(databases.home().reads()).chain(rows -> compare(rows));
    }

    private Uni<Void> compare(RowSet<Row> rows) {
        Map<String, End> noted = new HashMap<>();
        for (Row row : rows) {
            Long head = row.getLong("head");
            if (head != null) {
                noted.put(
                        row.getString("name"),
                        new End(head, row.getInteger("mark"), row.getOffsetDateTime("noted_at")));
            }
        }
        // Read once for all members. If home was restored as well, another member knows better.
        Uni<List<String>> claims = Uni.join()
                .all(Stream.concat(
                                Stream.of(claims(databases.home())),
                                databases.members().stream()
                                        .map(member ->
                                                claims(member).onFailure().recoverWithItem(NO_CLAIMS)))
                        .toList())
                .andFailFast()
                .memoize()
                .indefinitely();
        List<Uni<@Nullable State>> members = databases.members().stream()
                .map(member -> {
                    End end = noted.get(member.name());
                    return lookAt(member, end == null ? List.of() : List.of(end))
                            .call(state -> admitMember(state, end, claims))
                            .onFailure()
                            .recoverWithNull();
                })
                .toList();
        return Uni.join()
                .all(members)
                .andFailFast()
                .map(states -> states.stream().filter(Objects::nonNull).toList())
                .chain(this::lookAtHome);
    }

    private static Uni<State> lookAt(Database database, List<End> noted) {
        Long[] heads = noted.stream().map(End::head).toArray(Long[]::new);
        Integer[] marks = noted.stream().map(End::mark).toArray(Integer[]::new);
        return within(LOOK_AT_DATABASE.bind("heads", heads).bind("marks", marks).execute(database.polls()))
                .map(rows -> rows.iterator().next())
                .map(row -> {
                    Long head = row.getLong("home_head");
                    return new State(
                            database,
                            row,
                            head == null
                                    ? null
                                    : new End(head, row.getInteger("home_mark"), row.getOffsetDateTime("noted_at")));
                });
    }

    private static <T> Uni<T> within(Uni<T> statement) {
        return statement.ifNoItem().after(PATIENCE).fail();
    }

    private Uni<Void> admitMember(State member, @Nullable End noted, Uni<List<String>> claims) {
        if (member.row.getString("incarnation") == null) {
            return Uni.createFrom().voidItem(); // a hot standby
        }
        if (!member.needsAdmission()) {
            return noted != null && !noted.isOld(member.row)
                    ? Uni.createFrom().voidItem()
                    : note(member, databases.home());
        }
        return claims.chain(known -> admit(member, known)).chain(() -> note(member, databases.home()));
    }

    /** Members that do not answer are compared with home when they do. */
    private Uni<Void> lookAtHome(List<State> members) {
        List<End> noted =
                members.stream().map(State::home).filter(Objects::nonNull).toList();
        return lookAt(databases.home(), noted).chain(home -> {
            if (home.row.getString("incarnation") == null) {
                return Uni.createFrom().voidItem();
            }
            List<State> old = members.stream()
                    .filter(member -> home.needsAdmission() || member.home == null || member.home.isOld(home.row))
                    .toList();
            if (old.isEmpty()) {
                return Uni.createFrom().voidItem();
            }
            return claims(old.stream().map(State::database).toList())
                    .chain(claims -> admit(home, claims))
                    .chain(() -> Uni.join()
                            .all(old.stream()
                                    .map(member -> note(home, member.database)
                                            .onFailure()
                                            .recoverWithNull())
                                    .toList())
                            .andFailFast())
                    .replaceWithVoid();
        });
    }

    private static Uni<List<String>> claims(List<Database> of) {
        return Uni.join().all(of.stream().map(Admissions::claims).toList()).andFailFast();
    }

    private static Uni<String> claims(Database of) {
        return within(READ_CLAIMS.bind("own", of.name()).execute(of.reads()))
                .map(rows -> rows.iterator().next().getString("claims"));
    }

    private static Uni<Void> admit(State restored, List<String> claims) {
        return within(ADMIT.bind("own", restored.database.name())
                        .bind("claims", "[" + String.join(",", claims) + "]")
                        .bind("set_back", restored.setBack())
                        .execute(restored.database.pool()))
                .invoke(rows -> report(restored, rows.iterator().next().getArrayOfUUIDs("suspended")))
                .onFailure(DatabaseFailure::onlyReads)
                .recoverWithNull()
                .replaceWithVoid();
    }

    private static void report(State restored, UUID[] suspended) {
        if (restored.setBack()) {
            LOG.warnf(
                    "The database %s was set back: it lacks what another database has noted of it", restored.database);
        }
        if (suspended.length > 0) {
            LOG.errorf(
                    "%d projects of the database %s contradict other databases, and wait for annals reconcile: %s",
                    suspended.length,
                    restored.database,
                    Arrays.stream(suspended).limit(10).toList());
        }
    }

    private static Uni<Void> note(State noted, Database in) {
        Row row = noted.row;
        return within(NOTE_END.bind("id", row.getUUID("id"))
                        .bind("incarnation", row.getString("incarnation"))
                        .bind("head", row.getLong("head"))
                        .bind("mark", row.getInteger("mark"))
                        .bind("log_size", row.getLong("log_size"))
                        .bind("log_root", row.getString("log_root"))
                        .execute(in.pool()))
                .onFailure(DatabaseFailure::onlyReads)
                .recoverWithNull()
                .replaceWithVoid();
    }
}
