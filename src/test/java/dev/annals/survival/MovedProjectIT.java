package dev.annals.survival;

import static dev.annals.survival.ManyDatabases.HOME;
import static dev.annals.survival.ManyDatabases.NAMES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.Load;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.survival.StepGate.Step;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A project moves between databases while it is written and read, and while instances and servers die. */
@Slow
@Timeout(value = 12, unit = TimeUnit.HOURS)
class MovedProjectIT {

    private static final int MOVES = Load.times(8, 1_000);
    private static final int MINUTES = Integer.getInteger("survival.minutes", 0);
    private static final int WRITERS = 2;
    private static final int READERS = 4;
    /** A move copies the whole feed. */
    private static final Duration AFTER_RECORD = Duration.ofMillis(Load.times(30, 200));

    private static final Duration AFTER_FEED = Duration.ofMillis(Load.times(50, 200));
    private static final long AFTER_REQUEST_MILLIS = Load.times(150, 1_500);
    private static final int RECORDS_BETWEEN = Load.times(30, 10);
    private static final List<Step> OF_MOVES = List.of(
            Step.BEGUN, Step.ARRIVING, Step.COPYING, Step.SEALED, Step.SWITCHED, Step.LEFT, Step.OPENED, Step.ENDED);
    private static final List<Step> BEFORE_THE_SWITCH = OF_MOVES.subList(0, 4);

    @TempDir
    Path directory;

    private final HttpClient http = HttpClient.newHttpClient();
    private final ObjectMapper json = new ObjectMapper();
    private final Random random = new Random(Long.getLong("tests.seed", 46));
    private ManyDatabases databases;
    private MoveRequests requests;
    private Project project;
    private Clients clients;
    private MovedClients others;
    /** The database that has the project. */
    private String at = HOME;

    /** A fault while a move is about to commit a step. */
    private enum Fault {
        NONE,
        KILLED_MOVER,
        KILLED_OTHER,
        KILLED_SOURCE,
        KILLED_TARGET,
        KILLED_HOME,
        FROZEN_MOVER,
        FROZEN_OTHER,
        FROZEN_SERVER,
        HALF_OPEN,
        CANCELLED
    }

    @BeforeEach
    void start() throws Exception {
        databases = ManyDatabases.start();
        requests = new MoveRequests(databases.instances()::uri);
        // A stream that is set in a member delivers to public addresses alone.
        UUID id = requests.newProject(HOME);
        project = databases
                .instances()
                .get(0)
                .newToken(Instances.ADMIN, id, "read", "write", "sequence", "redact", "stream");
    }

    @AfterEach
    void stop() throws Exception {
        if (clients != null) {
            clients.close();
        }
        if (others != null) {
            others.close();
        }
        if (databases != null) {
            databases.close();
        }
    }

    private void startClients() throws Exception {
        clients = new Clients(databases.instances()::uri, project);
        clients.pace(AFTER_RECORD, AFTER_FEED);
        others = new MovedClients(clients, databases, project.id(), AFTER_REQUEST_MILLIS);
        clients.explain(false);
        others.start();
        clients.start(WRITERS, READERS).awaitTold(RECORDS_BETWEEN);
    }

    // --- Moves ---

    private HttpResponse<String> ask(String method, String body) throws IOException, InterruptedException {
        return requests.ask(project.id(), method, body);
    }

    private void begin(String target) throws Exception {
        requests.begin(project.id(), target);
    }

    /** Returns {@code moved} or {@code cancelled}. */
    private String awaitEnd() throws Exception {
        return requests.awaitEnd(project.id(), () -> clients + "\n" + databases.printed());
    }

    private String other(String... not) {
        List<String> others = new ArrayList<>(NAMES);
        others.removeAll(List.of(not));
        return others.get(random.nextInt(others.size()));
    }

    /** Moves the project, while clients write and read, and waits until all of them are answered again. */
    private void move(String target, Fault fault, Step step) throws Exception {
        clients.measurePause();
        if (fault == Fault.NONE) {
            begin(target);
            finish(target, "moved");
        } else {
            clients.explain(true);
            clients.measureRecovery();
            String ended = fault == Fault.CANCELLED && BEFORE_THE_SWITCH.contains(step) ? "cancelled" : "moved";
            try (StepGate gate = databases.shut(step, at, target)) {
                begin(target);
                happen(fault, step, target, databases.awaitMover(gate, step, at, target), gate);
            }
            finish(target, ended);
            clients.awaitRecovery();
            clients.explain(false);
        }
        clients.awaitTold(RECORDS_BETWEEN);
    }

    private void finish(String target, String ended) throws Exception {
        assertThat(awaitEnd()).isEqualTo(ended);
        if (ended.equals("moved")) {
            databases.removeLeft(project.id(), at);
            at = target;
        }
    }

    private void happen(Fault fault, Step step, String target, int mover, StepGate gate) throws Exception {
        String database = step.of(at, target);
        switch (fault) {
            case NONE -> {}
            case KILLED_MOVER, KILLED_OTHER -> {
                int killed = fault == Fault.KILLED_MOVER ? mover : 1 - mover;
                databases.instances().kill(killed);
                if (random.nextBoolean()) {
                    gate.rollBack();
                }
                gate.close();
                databases.endLease();
                databases.instances().restart(killed);
            }
            case KILLED_SOURCE -> kill(at, gate);
            case KILLED_TARGET -> kill(target, gate);
            case KILLED_HOME -> kill(HOME, gate);
            case FROZEN_MOVER, FROZEN_OTHER -> {
                int frozen = fault == Fault.FROZEN_MOVER ? mover : 1 - mover;
                databases.instances().freeze(frozen);
                gate.close();
                // The frozen one goes on with what another one has done meanwhile.
                databases.endLease();
                sleep();
                databases.instances().thaw(frozen);
            }
            case FROZEN_SERVER -> {
                databases.server(database).signal("STOP");
                sleep();
                databases.server(database).signal("CONT");
            }
            case HALF_OPEN -> {
                databases.path(mover, database).swallow();
                gate.close();
                sleep();
                databases.path(mover, database).heal();
                databases.endLease();
            }
            case CANCELLED -> {
                CompletableFuture<HttpResponse<String>> cancelled = CompletableFuture.supplyAsync(() -> {
                    try {
                        return ask("DELETE", "");
                    } catch (IOException | InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                });
                // The mover has the row that decides, and cancelling waits for it. Home leaves as it switches.
                boolean decides = step == Step.SWITCHED || (step == Step.LEFT && at.equals(HOME));
                if (decides || step == Step.COPYING) {
                    gate.close();
                }
                int status = BEFORE_THE_SWITCH.contains(step) ? 202 : 409;
                HttpResponse<String> answer = cancelled.get(MoveRequests.LIMIT_SECONDS, TimeUnit.SECONDS);
                if (!decides) {
                    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(status);
                }
            }
        }
    }

    private void kill(String database, StepGate gate) throws Exception {
        databases.server(database).signal("KILL");
        gate.close();
        Await.until(database + " is up again", () -> databases.answers(database));
    }

    private void sleep() throws InterruptedException {
        TimeUnit.MILLISECONDS.sleep(Load.isLong() ? random.nextInt(5_000, 20_000) : 2_000);
    }

    // --- Tests ---

    @Test
    void noClientNoticesThatItsProjectMoves() throws Exception {
        startClients();
        Path checkpoint = keepCheckpoint();
        List<Duration> pauses = new ArrayList<>();
        int moved = 0;
        long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(MINUTES);
        for (int number = 0; number < MOVES && (MINUTES == 0 || System.nanoTime() < end); number++) {
            Fault fault = Load.isLong() ? any() : usual(number);
            Step step = step(fault);
            String from = at;
            move(other(at), fault, step);
            if (fault == Fault.NONE) {
                pauses.add(clients.longestPause());
            }
            moved += from.equals(at) ? 0 : 1;
            assertThat(clients.unexplained())
                    .as("%d moves, %s at %s; %s", number + 1, fault, step, databases.printed())
                    .isEmpty();
            if (Load.isLong()) {
                System.out.printf("%d: %s before %s; in %s; %s%n", number + 1, fault, step, at, clients);
            }
        }
        requireSound(checkpoint);
        pauses.sort(null);
        System.out.printf(
                "%d moves, %d records; pause p50 %d ms, p99 %d ms, max %d ms%n",
                moved,
                clients.feed().size(),
                pauses.get(pauses.size() / 2).toMillis(),
                pauses.get(pauses.size() * 99 / 100).toMillis(),
                pauses.get(pauses.size() - 1).toMillis());
    }

    /** The fault of a move of the short form. */
    private static Fault usual(int number) {
        return switch (number) {
            case 2 -> Fault.KILLED_MOVER;
            case 4 -> Fault.KILLED_TARGET;
            case 6 -> Fault.CANCELLED;
            default -> Fault.NONE;
        };
    }

    private Fault any() {
        return random.nextBoolean() ? Fault.NONE : Fault.values()[random.nextInt(Fault.values().length)];
    }

    private Step step(Fault fault) {
        if (Load.isLong()) {
            return OF_MOVES.get(random.nextInt(OF_MOVES.size()));
        }
        return fault == Fault.KILLED_TARGET ? Step.COPYING : Step.SEALED;
    }

    private Path keepCheckpoint() throws Exception {
        Await.until(
                "something is signed", () -> get("/log/1/checkpoint").lines().count() > 3);
        return Files.writeString(directory.resolve("checkpoint"), get("/log/1/checkpoint"));
    }

    private String get(String path) throws IOException, InterruptedException {
        return http.send(clients.to(MovedClients.FEED + path).build(), BodyHandlers.ofString())
                .body();
    }

    private void requireSound(Path checkpoint) throws Exception {
        Verdict verdict = clients.end();
        assertThat(clients.unexplained()).isEmpty();
        assertThat(verdict.isSound()).as("%s; %s", verdict, clients).isTrue();
        assertThat(clients.rewound()).as("%s", clients).isZero();
        others.requireSound(databases.of(at));
        String vkey = json.readTree(get("/log")).at("/vkeys/0").textValue();
        String file = directory.resolve("proved.ndjson").toString();
        Map<String, String> client =
                Map.of("ANNALS_URL", databases.instances().uri().toString(), "ANNALS_TOKEN", project.token());
        databases.command(client, "export", "--proof", "--vkey=" + vkey, "--output=" + file);
        databases.command(client, "check", file, "--vkey=" + vkey, "--against=" + checkpoint);
        for (String name : NAMES) {
            SqlFixture database = databases.of(name);
            assertThat(database.texts("select annals.administration_differences()"))
                    .isEmpty();
            database.run("drop schema gate cascade");
            assertThat(database.text("select placement from annals.project where id = '" + project.id() + "'"))
                    .isEqualTo(name.equals(at) ? "here" : "gone");
        }
        assertThat(databases.command(Map.of(), "verify")).last().asString().startsWith("Sound: ");
    }

    @Test
    void aSealOfAMoveThatWasCancelledIsRefused() throws Exception {
        startClients();
        String source = at;
        move(other(source), Fault.CANCELLED, Step.SEALED);
        try (Connection late = databases.connect(source, "annals_service")) {
            String seal = "select annals.seal_project('" + project.id() + "', 'east', (select placement_epoch from"
                    + " annals.project where id = '" + project.id() + "'))";
            SQLException refused;
            do {
                refused = catchThrowableOfType(SQLException.class, () -> SqlFixture.execute(late, seal));
                // A deadlock with a writer: a mover tries again, too.
            } while ("40P01".equals(refused.getSQLState()));
            assertThat(refused.getSQLState()).as("%s", refused).isEqualTo("55000");
            assertThat(refused.getMessage()).contains("was cancelled");
        }
        assertThat(at).isEqualTo(source);
        clients.awaitTold(RECORDS_BETWEEN);
        assertThat(clients.unexplained()).isEmpty();
        assertThat(clients.end().isSound()).isTrue();
    }
}
