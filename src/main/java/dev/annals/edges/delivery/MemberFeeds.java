package dev.annals.edges.delivery;

import dev.annals.access.places.Places;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.PeriodicTask;
import dev.annals.kernel.database.Sql;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Tells home how far the feeds of one member are, as long as home has streams of all projects: their rows, with their progress, are in
 * home alone. Any number of instances do it.
 */
final class MemberFeeds {

    private static final Logger LOG = Logger.getLogger(MemberFeeds.class);
    private static final Sql FIND_FOLLOWERS = Sql.named("edges/delivery/find_followers");
    private static final Sql READ_MEMBER_HEADS = Sql.named("edges/delivery/read_member_heads");
    private static final Sql NOTE_MEMBER_HEADS = Sql.named("edges/delivery/note_member_heads");
    private static final Duration INTERVAL = Duration.ofMillis(500);
    /** Looks take at most a fifth of the time. */
    private static final int PAUSES = 4;

    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);
    /** The most feeds of a statement. */
    private static final int FEEDS = 10_000;

    private final Database member;
    private final Pool home;
    private final Places places;
    private final PeriodicTask looks;
    /** What home has noted. */
    private final Map<UUID, Long> noted = new ConcurrentHashMap<>();

    private volatile long streams;

    MemberFeeds(Database member, Database home, Places places) {
        this.member = member;
        this.home = home.reads();
        this.places = places;
        this.looks = new PeriodicTask(
                member.unlessIdle(this::look, () -> true), INTERVAL, Duration.ZERO, LOG, "Streams of all projects");
    }

    void start() {
        looks.start();
    }

    void stop() {
        looks.stop();
    }

    private Uni<Boolean> look() {
        return FIND_FOLLOWERS.execute(home).chain(rows -> {
            Row row = rows.iterator().next();
            if (!row.getBoolean("exist") || streams != row.getLong("streams")) {
                // A new one has heard of no feed.
                noted.clear();
                streams = row.getLong("streams");
            }
            long began = System.nanoTime();
            return row.getBoolean("exist")
                    ? read(null)
                            .chain(() -> Uni.createFrom()
                                    .item(false)
                                    .onItem()
                                    .delayIt()
                                    .by(PeriodicTask.pause(PAUSES, began, LONGEST_PAUSE)))
                    : Uni.createFrom().item(false);
        });
    }

    private Uni<Void> read(@Nullable UUID after) {
        return READ_MEMBER_HEADS
                .bind("after", after)
                .bind("most", FEEDS)
                .execute(member.reads())
                .chain(rows -> {
                    List<UUID> projects = new ArrayList<>();
                    List<Long> heads = new ArrayList<>();
                    UUID last = null;
                    for (Row row : rows) {
                        last = row.getUUID("project_id");
                        long head = row.getLong("head");
                        // Rows of a member may name projects of other databases.
                        if (places.of(last) == member && !Long.valueOf(head).equals(noted.get(last))) {
                            projects.add(last);
                            heads.add(head);
                        }
                    }
                    UUID next = rows.size() < FEEDS ? null : last;
                    return note(projects, heads)
                            .chain(() -> next == null ? Uni.createFrom().voidItem() : read(next));
                });
    }

    private Uni<Void> note(List<UUID> projects, List<Long> heads) {
        if (projects.isEmpty()) {
            return Uni.createFrom().voidItem();
        }
        return NOTE_MEMBER_HEADS
                .bind("projects", projects.toArray(UUID[]::new))
                .bind("heads", heads.toArray(Long[]::new))
                .execute(home)
                .invoke(done -> {
                    for (int i = 0; i < projects.size(); i++) {
                        noted.put(projects.get(i), heads.get(i));
                    }
                })
                .replaceWithVoid();
    }
}
