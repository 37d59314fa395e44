package dev.annals.edges.intake;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.PackagedService;
import dev.annals.Slow;
import dev.annals.TakesLong;
import dev.annals.kernel.guid.SqlServerGuid;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands of docs/outbox.md with a real MariaDB: each committed row arrives once. */
@Slow
@TakesLong
class OutboxIT {

    private static final Pattern CODE = Pattern.compile("(?m)^```sh\n(.*?)^```$", Pattern.DOTALL);
    private static final Path EXAMPLES = Path.of("examples", "outbox");
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    @TempDir
    static Path folder;

    private static Process database;
    private static PackagedService service;
    private static List<String> blocks;

    private Project project;

    @BeforeAll
    static void start() throws Exception {
        need(
                exists("mariadbd") && exists("mariadb-install-db") && exists("python3"),
                "Debian's mariadb-server, and Python");
        Path data = folder.resolve("mariadb");
        String user = System.getProperty("user.name");
        run(
                "mariadb-install-db",
                "--no-defaults",
                "--datadir=" + data,
                "--user=" + user,
                "--auth-root-authentication-method=normal",
                "--skip-test-db");
        Path socket = folder.resolve("sock");
        database = program(
                        "mariadbd",
                        "--no-defaults",
                        "--datadir=" + data,
                        "--user=" + user,
                        "--socket=" + socket,
                        "--skip-networking",
                        "--innodb-buffer-pool-size=16M")
                .redirectOutput(folder.resolve("mariadb.log").toFile())
                .start();
        Files.writeString(
                folder.resolve("outbox.cnf"),
                "[client]\nsocket=%s\nuser=root\ndefault-character-set=utf8mb4\n".formatted(socket));
        Await.until("MariaDB listens", () -> {
            assertThat(database.isAlive()).isTrue();
            return ask("select 1").exitValue() == 0;
        });
        sql("create database shop");
        Files.writeString(
                folder.resolve("outbox.cnf"),
                "[client]\nsocket=%s\nuser=root\ndefault-character-set=utf8mb4\ndatabase=shop\n".formatted(socket));
        service = new PackagedService(folder.resolve("data"));
        Path examples = Files.createDirectories(folder.resolve(EXAMPLES));
        for (String program : List.of("relay.py", "sql_server_guid.py")) {
            Files.copy(EXAMPLES.resolve(program), examples.resolve(program));
        }
        blocks = CODE.matcher(Files.readString(Path.of("docs", "outbox.md")))
                .results()
                .map(block -> block.group(1))
                .toList();
    }

    @AfterAll
    static void stop() throws Exception {
        if (service != null) {
            service.close();
        }
        if (database != null) {
            database.destroy();
            if (!database.waitFor(30, TimeUnit.SECONDS)) {
                database.destroyForcibly();
            }
        }
    }

    @BeforeEach
    void begin() throws Exception {
        project = service.newProject("read", "write");
        sql("drop table if exists audit_outbox, volume; drop function if exists uuid_v7;");
        bash(blocks.get(0));
    }

    private static boolean exists(String program) throws Exception {
        return new ProcessBuilder("bash", "-c", "PATH=$PATH:/usr/sbin command -v " + program)
                        .start()
                        .waitFor()
                == 0;
    }

    private static ProcessBuilder program(String... command) {
        ProcessBuilder builder =
                new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true);
        builder.environment().merge("PATH", ":/usr/sbin", String::concat);
        // The program is looked for along this Java machine's own path.
        if (Files.isExecutable(Path.of("/usr/sbin", command[0]))) {
            builder.command().set(0, "/usr/sbin/" + command[0]);
        }
        return builder;
    }

    private static String run(String... command) throws Exception {
        Path output = Files.createTempFile(folder, "run", ".log");
        int status = program(command).redirectOutput(output.toFile()).start().waitFor();
        String printed = Files.readString(output).strip();
        assertThat(status).as(String.join(" ", command) + "\n" + printed).isZero();
        return printed;
    }

    private static Process ask(String statements) throws Exception {
        Files.writeString(folder.resolve("statements.sql"), statements);
        Process client = program("mariadb", "--defaults-extra-file=outbox.cnf", "-BN")
                .redirectInput(folder.resolve("statements.sql").toFile())
                .redirectOutput(folder.resolve("sql.log").toFile())
                .start();
        client.waitFor();
        return client;
    }

    private static String sql(String statements) throws Exception {
        Process client = ask(statements);
        String printed = Files.readString(folder.resolve("sql.log")).strip();
        assertThat(client.exitValue()).as(printed).isZero();
        return printed;
    }

    private ProcessBuilder shell(String commands) {
        ProcessBuilder builder = program("bash", "-ec", commands);
        builder.environment().put("ANNALS_URL", service.uri().toString().replaceAll("/$", ""));
        builder.environment().put("ANNALS_TOKEN", project.token());
        return builder;
    }

    private String bash(String commands) throws Exception {
        Path output = Files.createTempFile(folder, "bash", ".log");
        int status = shell(commands).redirectOutput(output.toFile()).start().waitFor();
        String printed = Files.readString(output).strip();
        assertThat(status).as(printed).isZero();
        return printed;
    }

    private List<JsonNode> feed() throws IOException, InterruptedException {
        HttpResponse<String> page = HTTP.send(
                HttpRequest.newBuilder(URI.create(service.uri()
                                .resolve("/v1/project-logs?limit=1000")
                                .toString()))
                        .header("Authorization", "Bearer " + project.token())
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        List<JsonNode> records = new ArrayList<>();
        JSON.readTree(page.body()).get("results").forEach(records::add);
        return records;
    }

    @Test
    void theExampleWorksAsItStands() throws Exception {
        bash(blocks.get(1));
        String key = sql("select lower(hex(id)) from audit_outbox");
        bash(blocks.get(2));
        JsonNode record = feed().get(0);
        assertThat(record.get("id").asText().replace("-", "")).isEqualTo(key);
        assertThat(UUID.fromString(record.get("id").asText()).version()).isEqualTo(7);
        assertThat(UUID.fromString(record.get("id").asText()).variant()).isEqualTo(2);
        assertThat(record.at("/subject/id").asText()).isEqualTo("v-77");
        assertThat(sql("select count(*) from audit_outbox")).isEqualTo("0");
    }

    @Test
    void aRefusedRecordDoesNotBlockTheOthers() throws Exception {
        sql("""
                insert into audit_outbox (id, record) values (uuid_v7(), '{"action": "one\\\\n\\\\ttwo"}'),
                  (uuid_v7(), '{"x": 1}'), (uuid_v7(), '[1]'), (uuid_v7(), '{"action": "ä\uD83D\uDE80"}')""");
        bash(blocks.get(2));
        assertThat(feed().stream().map(record -> record.get("action").asText()))
                .containsExactlyInAnyOrder("one\n\ttwo", "ä\uD83D\uDE80");
        assertThat(sql("select record from audit_outbox where refused like '%invalid-record%' order by record"))
                .isEqualTo("[1]\n{\"x\": 1}");
        assertThat(sql("select count(*) from audit_outbox")).isEqualTo("2");
    }

    @Test
    void eachCommittedRowArrivesOnceThoughRelaysAndServiceAreKilled() throws Exception {
        bash(blocks.get(2));
        int transactions = 400;
        StringBuilder work = new StringBuilder();
        for (int i = 0; i < transactions; i++) {
            work.append(
                            "start transaction; insert into volume values ('v%d', 'x'); insert into audit_outbox (id, record)"
                                    .formatted(i))
                    .append(" values (uuid_v7(), json_object('action', 'c%d')); do sleep(0.01); %s;\n"
                            .formatted(i, i % 3 == 0 ? "rollback" : "commit"));
        }
        Path script = Files.writeString(folder.resolve("work.sql"), work);
        Process writer = program("mariadb", "--defaults-extra-file=outbox.cnf")
                .redirectInput(script.toFile())
                .start();
        Random random = new Random();
        boolean restarted = false;
        for (int kills = 0; kills < 6 || writer.isAlive(); kills++) {
            Process relay = shell("exec python3 examples/outbox/relay.py").start();
            Process other = shell("exec python3 examples/outbox/relay.py").start();
            relay.waitFor(500 + random.nextInt(500), TimeUnit.MILLISECONDS);
            if (kills == 2) {
                service.kill();
            }
            relay.destroyForcibly().waitFor();
            if (kills == 2) {
                service.restart();
                restarted = true;
            }
            other.destroyForcibly().waitFor();
        }
        assertThat(writer.waitFor()).isZero();
        assertThat(restarted).isTrue();
        bash("python3 examples/outbox/relay.py --once");
        List<String> actions =
                feed().stream().map(record -> record.get("action").asText()).toList();
        assertThat(actions)
                .doesNotHaveDuplicates()
                .hasSize(transactions - (transactions + 2) / 3)
                .allMatch(action -> Integer.parseInt(action.substring(1)) % 3 != 0);
        assertThat(sql("select count(*) from audit_outbox")).isEqualTo("0");
        assertThat(Integer.parseInt(sql("select count(*) from volume"))).isEqualTo(actions.size());
    }

    @Test
    void keysOfMySqlAscendAndThoseForSqlServerAreLaidOutAsItSorts() throws Exception {
        sql("create table ids (n int auto_increment primary key, id binary(16))");
        for (int i = 0; i < 20; i++) {
            sql("insert into ids (id) values (uuid_v7())");
        }
        assertThat(sql("select group_concat(n order by n) = group_concat(n order by id) from ids"))
                .isEqualTo("1");
        sql("drop table ids");
        String[] given =
                blocks.get(3).lines().reduce((one, last) -> last).orElseThrow().split(" ", -1);
        assertThat(bash(blocks.get(3)).lines().toList())
                .containsExactly(
                        SqlServerGuid.of(UUID.fromString(given[2])).toString(),
                        SqlServerGuid.of(UUID.fromString(given[3])).toString());
    }
}
