package dev.annals.derived.redaction;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import dev.annals.Load;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.access.places.OnePlace;
import dev.annals.derived.projection.DerivedFixture;
import dev.annals.derived.projection.TestProjector;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.ProblemException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** After a redaction, derived data matches a rebuild, and the log is unchanged. */
@Slow
@BesideTheService
class RedactedProjectionsTest {

    /** By each of three concurrent callers. */
    private static final int REDACTIONS = Load.times(5, 40);

    private static final int PAUSE_MILLIS = 10;

    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final List<String> FIELDS =
            List.of("actor.id", "actor.name", "subject.id", "subject.name", "outcome", "ip_address", "message");

    private final DerivedFixture derived = new DerivedFixture(20260205);
    private final SqlFixture log = derived.log;
    private final UUID project = derived.project;
    private final Random random = new Random(20260206);
    private final UUID token = UUID.randomUUID();

    @AfterEach
    void theFeedIsWhole() throws SQLException {
        log.checkFeed(project);
        derived.close();
    }

    private UUID recordAt(long sequenceId) throws SQLException {
        return UUID.fromString(log.text(
                "select id from annals.feed where project_id = '" + project + "' and sequence_id = " + sequenceId));
    }

    /** Redacts some of a record's fields. Returns whether it has any. */
    private boolean redact(Redactions redactions, long sequenceId, Random choice) throws SQLException {
        Set<String> fields = new LinkedHashSet<>();
        for (String field : FIELDS) {
            if (choice.nextBoolean()) {
                fields.add(field);
            }
        }
        for (String field : fields) {
            try {
                redactions
                        .redact(
                                new Redactions.Target(project, recordAt(sequenceId), token, "192.0.2.1", true),
                                new RedactionRequest(Set.of(field), "as the test wants it"))
                        .await()
                        .atMost(LIMIT);
            } catch (ProblemException e) {
                assertThat(e.getMessage()).as("the record has no such field").contains("Nothing was redacted");
            }
        }
        return !fields.isEmpty();
    }

    /** A day has room for all combinations with 10,000, for some with 40. */
    @ParameterizedTest
    @ValueSource(ints = {10_000, 40})
    void projectionsMatchARebuild(int combinations) throws Exception {
        TestProjector projector = derived.projector(combinations);
        Redactions redactions = new Redactions(OnePlace.of(derived.pool), projector.steps(), new SequentialGuid());
        derived.append(3000);
        projector.catchUp();
        List<String> tiles = log.texts("select t::text from annals.merkle_tile t order by t");
        for (int i = 0; i < Load.times(10, 60); i++) {
            redact(redactions, 1 + random.nextInt(3000), random);
        }
        assertThat(log.number("select count(*) from annals.redaction")).isGreaterThan(Load.times(7, 60));
        assertThat(log.texts("select t::text from annals.merkle_tile t order by t"))
                .isEqualTo(tiles);
        derived.assertARebuildDerivesTheSame(projector);
    }

    @Test
    void countsAreRightAtOnceIfTheDayHasRoom() throws Exception {
        TestProjector projector = derived.projector();
        Redactions redactions = new Redactions(OnePlace.of(derived.pool), projector.steps(), new SequentialGuid());
        log.run("insert into annals.audit_record (project_id, action, actor_name, outcome) select '" + project
                + "', 'a', 'Jane', 'o' from generate_series(1, 2)");
        projector.catchUp();
        for (int place = 1; place <= 2; place++) {
            redactions
                    .redact(
                            new Redactions.Target(project, recordAt(place), token, "192.0.2.1", true),
                            new RedactionRequest(Set.of("actor.name"), "a reason"))
                    .await()
                    .atMost(LIMIT);
            assertThat(log.texts(
                            "select coalesce(actor, '-') || record_count from annals.daily_count where by_actor and action = 'a'"
                                    + " order by 1 desc"))
                    .isEqualTo(place == 1 ? List.of("Jane1", "-1") : List.of("-2"));
        }
    }

    /** The seed of the tile would give every salt. The seeds of other records give only their own. */
    @Test
    void onlyTheSeedOfTheRedactedRecordIsDeleted() throws Exception {
        TestProjector projector = derived.projector();
        Redactions redactions = new Redactions(OnePlace.of(derived.pool), projector.steps(), new SequentialGuid());
        derived.append(300);
        projector.catchUp();
        String before = log.text(
                "select encode(seed, 'hex') from annals.merkle_seed where project_id = '" + project + "' and tile = 0");
        while (log.number("select count(*) from annals.redaction where record_id = '" + recordAt(7) + "'") == 0) {
            redact(redactions, 7, random);
        }
        assertThat(log.numbers("""
                        select place from generate_series(1, 256) as place, annals.merkle_seed
                        where project_id = '%s' and tile = 0 and substr(seed, place * 32 - 31, 32)
                          <> sha256(decode('%s', 'hex') || int8send(place)) order by 1""".formatted(project, before))).containsExactly(7L);
        assertThat(log.text(
                        "select encode(substr(seed, 6 * 32 + 1, 32), 'hex') from annals.merkle_seed where project_id = '"
                                + project + "' and tile = 0"))
                .isEqualTo("0".repeat(64));
        assertThat(log.number("select octet_length(seed) from annals.merkle_seed where project_id = '" + project
                        + "' and tile = 1"))
                .isEqualTo(32);
    }

    @Test
    void aRecordOutsideTheTreeKeepsItsLeaf() throws Exception {
        TestProjector projector = derived.projector();
        Redactions redactions = new Redactions(OnePlace.of(derived.pool), projector.steps(), new SequentialGuid());
        derived.append(300);
        for (long place : new long[] {1, 256, 257, 290}) {
            redact(redactions, place, random);
        }
        derived.append(300);
        projector.catchUp();
        redact(redactions, 257, random);
        redact(redactions, 600, random);
        derived.append(300);
        derived.assertARebuildDerivesTheSame(projector);
    }

    @Test
    void redactionsBesideAppendsProjectorsAndRebuildsLoseNothing() throws Exception {
        derived.append(2000);
        TestProjector first = derived.projector();
        first.catchUp();
        AtomicBoolean done = new AtomicBoolean();
        AtomicInteger redacted = new AtomicInteger();
        ExecutorService threads = Executors.newCachedThreadPool();
        List<Future<?>> running = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            TestProjector projector = derived.projector();
            running.add(threads.submit(whileNot(done, projector::scan)));
        }
        running.add(threads.submit(whileNot(done, () -> {
            derived.append(50);
            return null;
        })));
        List<Future<?>> redacting = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Random choice = new Random(i);
            Redactions redactions = new Redactions(
                    OnePlace.of(derived.pool), derived.projector().steps(), new SequentialGuid());
            redacting.add(threads.submit(() -> {
                for (int n = 0; n < REDACTIONS; n++) {
                    // few tiles and blocks, so that callers meet
                    redacted.addAndGet(redact(redactions, 1500 + choice.nextInt(500), choice) ? 1 : 0);
                }
                return null;
            }));
        }
        for (int i = 0; i < 3; i++) {
            Thread.sleep(300);
            derived.rebuild();
        }
        for (Future<?> each : redacting) {
            each.get(2, TimeUnit.MINUTES);
        }
        done.set(true);
        for (Future<?> each : running) {
            each.get(1, TimeUnit.MINUTES);
        }
        threads.shutdown();
        assertThat(redacted.get()).isGreaterThan(REDACTIONS * 3 / 2);
        derived.assertARebuildDerivesTheSame(first);
        assertThat(log.numbers("select number from annals.redaction order by number"))
                .isEqualTo(log.numbers("select generate_series(1, count(*)) from annals.redaction"));
        assertThat(log.number("select count(*) from annals.audit_record where action = 'annals.redact'"))
                .isEqualTo(log.number("select count(*) from annals.redaction"));
    }

    /** With pauses: concurrency matters here, not the number of records. */
    private static Callable<Void> whileNot(AtomicBoolean done, Callable<?> work) {
        return () -> {
            while (!done.get()) {
                work.call();
                TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
            }
            return null;
        };
    }
}
