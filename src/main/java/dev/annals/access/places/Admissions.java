package dev.annals.access.places;

import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PeriodicTask;
import dev.annals.kernel.database.Sql;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.annotation.Priority;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
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
    private static final Sql FIND_UNPROVEN_CLAIMS = Sql.named("access/places/find_unproven_claims");
    private static final Sql READ_MARKS = Sql.named("access/places/read_marks");
    private static final Sql ADMIT = Sql.named("access/places/admit");
    private static final Sql NOTE_END = Sql.named("access/places/note_end");
    private static final int AFTER_PLACES = 20;
    private static final int REASON_LENGTH = 500;
    private static final Duration ADMITTED_EACH = Duration.ofSeconds(4);
    private static final Duration LINE_EACH = Duration.ofSeconds(10);
    private static final Duration SAME_LINE_EACH = Duration.ofMinutes(1);
    private static final Duration INTERVAL = Duration.ofSeconds(2);
    private static final Duration RETRY_DELAY = Duration.ofSeconds(1);
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final Duration START_LIMIT = Duration.ofSeconds(15);
    private static final Duration NOTED_EACH = Duration.ofMinutes(1);
    /** A commit wakes the loops of all databases in its server. */
    private static final Duration SAME_NOTED_EACH = Duration.ofHours(1);

    private final Databases databases;
    /** The last line of the log about each database, of a failure or a loss. */
    private final Map<Database, Line> lines = new ConcurrentHashMap<>();
    /** As {@link System#nanoTime}. */
    private final Map<Database, Long> admitted = new ConcurrentHashMap<>();

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

        /** Whether it was compared with home as it is now. */
        boolean knows(State home) {
            return this.home != null
                    && Objects.equals(row.getString("home_incarnation"), home.row.getString("incarnation"));
        }
    }

    Uni<Void> look() {
        return READ_ENDS.execute(databases.home().reads()).chain(this::compare);
    }

    private Uni<Void> compare(RowSet<Row> rows) {
        Map<String, UUID> ids = new HashMap<>();
        Map<String, End> noted = new HashMap<>();
        for (Row row : rows) {
            ids.put(row.getString("name"), row.getUUID("id"));
            Long head = row.getLong("head");
            if (head != null) {
                noted.put(
                        row.getString("name"),
                        new End(head, row.getInteger("mark"), row.getOffsetDateTime("noted_at")));
            }
        }
        // Read once for all that are admitted.
        Uni<Claims> claims =
                Uni.createFrom().deferred(this::readClaims).memoize().indefinitely();
        List<Uni<@Nullable State>> members = new ArrayList<>();
        for (Database member : databases.members()) {
            UUID id = ids.get(member.name());
            if (id != null) {
                End end = noted.get(member.name());
                members.add(told(
                        member,
                        lookAt(member, end == null ? List.of() : List.of(end))
                                .call(state -> admitMember(state, id, end, claims))));
            }
        }
        Uni<List<@Nullable State>> states = members.isEmpty()
                ? Uni.createFrom().item(List.of())
                : Uni.join().all(members).andFailFast();
        return states.map(all -> all.stream().filter(Objects::nonNull).toList()).chain(all -> lookAtHome(all, claims));
    }

    /** Null after a failure, of which the log has one line until it is another one or over. */
    private <T> Uni<@Nullable T> told(Database database, Uni<T> step) {
        return step.onFailure().recoverWithItem(failure -> {
            String text = failure.toString().replaceAll("\\p{Cntrl}", " ");
            String reason = text.substring(0, Math.min(text.length(), REASON_LENGTH));
            if (isNews(database, reason)) {
                LOG.warnf(
                        "The database %s was not compared with the others, and is compared again. If it was restored or"
                                + " promoted, its projects accept no records before: %s",
                        database, reason);
            }
            return null;
        });
    }

    private record Line(String reason, long at) {}

    /** One line a minute, or ten seconds after another one: a member may answer anything at each look. */
    private boolean isNews(Database database, String reason) {
        Line last = lines.get(database);
        long now = System.nanoTime();
        boolean isNews =
                last == null || now - last.at > (last.reason.equals(reason) ? SAME_LINE_EACH : LINE_EACH).toNanos();
        if (isNews) {
            lines.put(database, new Line(reason, now));
        }
        return isNews;
    }

    /** A member may say at each look that it was promoted. Reading what all databases say costs them more than a look. */
    private boolean mayAdmit(Database database) {
        Long last = admitted.get(database);
        return last == null || System.nanoTime() - last > ADMITTED_EACH.toNanos();
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

    /** @param id as home knows it: the member may say another one */
    private Uni<Void> admitMember(State member, UUID id, @Nullable End noted, Uni<Claims> claims) {
        if (member.row.getString("incarnation") == null) {
            return Uni.createFrom().voidItem(); // a hot standby
        }
        if (!member.needsAdmission()) {
            return noted != null && !noted.isOld(member.row)
                    ? Uni.createFrom().voidItem()
                    : note(member, id, databases.home());
        }
        return !mayAdmit(member.database)
                ? Uni.createFrom().voidItem()
                : claims.chain(known -> admit(member, known)).chain(() -> note(member, id, databases.home()));
    }

    /**
     * Home alone decides unless it was restored or promoted, or lacks what a member has noted of it. Members that do not answer are compared
     * with home when they do.
     */
    private Uni<Void> lookAtHome(List<State> members, Uni<Claims> claims) {
        List<End> noted =
                members.stream().map(State::home).filter(Objects::nonNull).toList();
        return lookAt(databases.home(), noted).chain(home -> {
            if (home.row.getString("incarnation") == null) {
                return Uni.createFrom().voidItem();
            }
            boolean isCompared = home.needsAdmission() || members.stream().anyMatch(member -> !member.knows(home));
            if (isCompared && !mayAdmit(home.database)) {
                return Uni.createFrom().voidItem();
            }
            return isCompared
                    ? told(databases.home(), claims.call(known -> admit(home, known)))
                            .chain(known -> known == null
                                    ? Uni.createFrom().voidItem()
                                    : note(
                                            home,
                                            members.stream()
                                                    .filter(member -> known.has(member.database.name()))
                                                    .toList()))
                    : note(
                            home,
                            members.stream()
                                    .filter(member ->
                                            Objects.requireNonNull(member.home).isOld(home.row))
                                    .toList());
        });
    }

    private Uni<Void> note(State home, List<State> in) {
        return in.isEmpty()
                ? Uni.createFrom().voidItem()
                : Uni.join()
                        .all(in.stream()
                                .map(member ->
                                        told(member.database, note(home, home.row.getUUID("id"), member.database)))
                                .toList())
                        .andFailFast()
                        .replaceWithVoid();
    }

    private Uni<Claims> readClaims() {
        return read(databases.home())
                .map(row -> new Claims(row.getString("claims"), row.getString("moves")))
                .chain(all -> Uni.join()
                        .all(databases.members().stream()
                                .map(member -> read(member)
                                        .invoke(row -> {
                                            synchronized (all) {
                                                all.add(member.name(), row.getString("claims"));
                                            }
                                        })
                                        .onFailure()
                                        .recoverWithNull())
                                .toList())
                        .andFailFast()
                        .replaceWith(all));
    }

    private static Uni<Row> read(Database of) {
        return within(READ_CLAIMS.bind("own", of.name()).execute(of.reads()))
                .map(rows -> rows.iterator().next());
    }

    private Uni<Void> admit(State restored, Claims claims) {
        return marks(restored.database, claims)
                .chain(marks -> within(ADMIT.bind("own", restored.database.name())
                        .bind("claims", claims.toString())
                        .bind("marks", marks)
                        .bind("set_back", restored.setBack())
                        .execute(restored.database.pool())))
                .invoke(rows -> {
                    admitted.put(restored.database, System.nanoTime());
                    report(restored, rows.iterator().next().getArrayOfUUIDs("suspended"));
                })
                .onFailure(DatabaseFailure::onlyReads)
                .recoverWithNull()
                .replaceWithVoid();
    }

    /** What members with unproven claims have at the last places of the restored database's copies. */
    private Uni<String> marks(Database restored, Claims claims) {
        return within(FIND_UNPROVEN_CLAIMS
                        .bind("own", restored.name())
                        .bind("claims", claims.toString())
                        .execute(restored.reads()))
                .chain(rows -> {
                    Map<String, List<Row>> asked =
                            rows.stream().collect(Collectors.groupingBy(row -> row.getString("database")));
                    JsonArray marks = new JsonArray();
                    Uni<Void> all = Uni.createFrom().voidItem();
                    for (Map.Entry<String, List<Row>> each : asked.entrySet()) {
                        all = all.chain(() -> addMarks(each.getKey(), each.getValue(), marks));
                    }
                    return all.map(done -> marks.encode());
                });
    }

    private Uni<Void> addMarks(String member, List<Row> asked, JsonArray marks) {
        UUID[] projects = asked.stream().map(row -> row.getUUID("project_id")).toArray(UUID[]::new);
        Long[] heads = asked.stream().map(row -> row.getLong("head")).toArray(Long[]::new);
        return within(READ_MARKS
                        .bind("projects", projects)
                        .bind("heads", heads)
                        .execute(databases.of(member).reads()))
                .invoke(rows -> {
                    Integer[] found = rows.iterator().next().getArrayOfIntegers("marks");
                    for (int i = 0; i < Math.min(found.length, projects.length); i++) {
                        marks.add(new JsonObject()
                                .put("project_id", projects[i].toString())
                                .put("database", member)
                                .put("mark", found[i]));
                    }
                })
                .onFailure()
                .recoverWithNull()
                .replaceWithVoid();
    }

    private void report(State restored, UUID[] suspended) {
        if (restored.setBack() && isNews(restored.database, "set back")) {
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

    private static Uni<Void> note(State noted, UUID id, Database in) {
        Row row = noted.row;
        return within(NOTE_END.bind("id", id)
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
