package dev.annals.edges.delivery;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.InstalledPostgres;
import dev.annals.tools.embedded.TestDatabase;
import io.restassured.response.Response;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.Statement;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Streams use the service's own identity where its operator allows that, and nowhere else. */
@Slow
class OwnIdentityIT {

    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path directory;

    private final DatabaseUrl database = TestDatabase.createDatabase();

    private static Response put(ServiceProcess service, String token, String type, String url, String more) {
        return given().header("Authorization", "Bearer " + token)
                .contentType("application/json")
                .body("{\"sink\": {\"type\": \"" + type + "\", \"url\": \"" + url + "\"}" + more + "}")
                .put(service.uri("/v1/streams/own"));
    }

    private static Response get(ServiceProcess service, String token) {
        return given().header("Authorization", "Bearer " + token).get(service.uri("/v1/streams/own"));
    }

    private static void awaitAll(ServiceProcess service, String token) throws Exception {
        try {
            Await.until(
                    "all is delivered", () -> get(service, token).path("lag").equals(0));
        } catch (AssertionError e) {
            throw new AssertionError(get(service, token).asString(), e);
        }
    }

    private static void awaitError(ServiceProcess service, String token, String text) throws Exception {
        Await.until(
                "it says: " + text,
                () -> String.valueOf(get(service, token).<String>path("last_error"))
                        .contains(text));
    }

    private void append(Project project, int count) throws Exception {
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            statement.execute("insert into annals.audit_record (project_id, action) select '" + project.id()
                    + "', 'act' from generate_series(1, " + count + ")");
        }
    }

    private static List<Long> ids(Path folder) throws IOException {
        List<Path> objects;
        try (Stream<Path> files = Files.walk(folder)) {
            objects = files.filter(file -> file.toString().endsWith(".ndjson.gz"))
                    .sorted()
                    .toList();
        }
        List<Long> ids = new ArrayList<>();
        for (Path object : objects) {
            try (BufferedReader lines = new BufferedReader(
                    new InputStreamReader(new GZIPInputStream(Files.newInputStream(object)), StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    ids.add(JSON.readTree(line).path("sequence_id").asLong());
                }
            }
        }
        return ids;
    }

    private ServiceProcess start(AwsEndpoints aws, Path token, String ofAll, String ofProjects) throws IOException {
        return StreamingService.start(
                database,
                "ANNALS_STREAMS_OBJECT_AGE",
                "100ms",
                "ANNALS_STREAMS_MAX_RETRY_DELAY",
                "1s",
                "ANNALS_STREAMS_OWN_IDENTITY",
                ofAll,
                "ANNALS_STREAMS_OWN_IDENTITY_OF_PROJECTS",
                ofProjects,
                "AWS_WEB_IDENTITY_TOKEN_FILE",
                token.toString(),
                "AWS_ROLE_ARN",
                AwsEndpoints.ROLE,
                "AWS_ROLE_SESSION_NAME",
                "test",
                "AWS_ENDPOINT_URL_STS",
                aws.url() + "/sts");
    }

    @Test
    void temporaryKeysEndUnderADeliveryThatLosesNothing() throws Exception {
        Path token = directory.resolve("token");
        try (AwsEndpoints aws = new AwsEndpoints(InstantSource.system());
                ObjectStore store = new ObjectStore(Files.createDirectory(directory.resolve("store")));
                SessionGate gate = new SessionGate(store.port(), aws.sessions)) {
            Files.writeString(token, aws.webToken);
            String bucket = "s3+http://127.0.0.1:" + gate.port() + "/bucket";
            String region = "?region=eu-central-1";
            Project project;
            try (ServiceProcess service = start(aws, token, bucket + "/all/*", bucket + "/projects")) {
                project = service.newProject(AuditLogFixture.ADMIN_TOKEN, "read", "write", "stream");
                for (String other : List.of("", "/all", "/all/projects", "/projects/deeper", "-of-others")) {
                    put(service, project.token(), "s3", bucket + other + region, "")
                            .then()
                            .statusCode(422)
                            .body("errors[0].pointer", equalTo("/sink/secret"))
                            .body("errors[0].detail", containsString("ANNALS_STREAMS_OWN_IDENTITY_OF_PROJECTS"));
                }
                put(service, project.token(), "s3", bucket + "/all" + region, ", \"all_projects\": true")
                        .then()
                        .statusCode(422)
                        .body("errors[0].pointer", equalTo("/all_projects"));
                assertThat(aws.asked).isEmpty();

                put(service, project.token(), "s3", bucket + "/projects" + region, "")
                        .then()
                        .statusCode(201)
                        .body("sink.has_secret", equalTo(false));
                append(project, 50);
                awaitAll(service, project.token());
                aws.webToken = "eyJ.second";
                Files.writeString(token, aws.webToken);
                aws.sessions.clear();
                append(project, 50);
                awaitAll(service, project.token());
                aws.isBroken = true;
                aws.sessions.clear();
                append(project, 50);
                awaitError(service, project.token(), "AccessDenied");
                aws.isBroken = false;
                awaitAll(service, project.token());
                assertThat(ids(store.bucket.resolve("projects")))
                        .isEqualTo(LongStream.rangeClosed(1, 150).boxed().toList());

                put(
                                service,
                                AuditLogFixture.ADMIN_TOKEN,
                                "s3",
                                bucket + "/all/siem" + region,
                                ", \"all_projects\": true")
                        .then()
                        .statusCode(201);
                awaitAll(service, AuditLogFixture.ADMIN_TOKEN);
                assertThat(ids(store.bucket.resolve("all/siem"))).hasSizeGreaterThan(150);
                assertThat(service.output)
                        .noneMatch(line -> line.contains(ObjectStore.SECRET_KEY)
                                || line.contains("session-")
                                || line.contains("eyJ"));
            }
            try (ServiceProcess service = start(aws, token, bucket + "/all/*", bucket + "/other")) {
                append(project, 1);
                awaitError(service, project.token(), "ANNALS_STREAMS_OWN_IDENTITY_OF_PROJECTS");
                assertThat(ids(store.bucket.resolve("projects"))).hasSize(150);
            }
        }
    }

    @Test
    void aDatabaseThatAsksForACertificateGetsIt() throws Exception {
        Certificate served = new Certificate(Files.createDirectory(directory.resolve("server")));
        Certificate client = new Certificate(Files.createDirectory(directory.resolve("client")), "sink");
        Files.setPosixFilePermissions(served.key(), PosixFilePermissions.fromString("rw-------"));
        Path cluster = Files.createDirectory(directory.resolve("postgres"));
        try (InstalledPostgres server = InstalledPostgres.start(cluster)) {
            Files.writeString(
                    cluster.resolve("data/pg_hba.conf"),
                    "hostssl all sink all cert\nhost all annals all scram-sha-256\n",
                    StandardOpenOption.TRUNCATE_EXISTING);
            server.restart("-c ssl=on -c ssl_cert_file=" + served.pem() + " -c ssl_key_file=" + served.key()
                    + " -c ssl_ca_file=" + client.pem());
            try (Connection owner = server.url("postgres").connect();
                    Statement statement = owner.createStatement()) {
                statement.execute("create role sink login");
                statement.execute("create database warehouse owner sink");
            }
            String place = "localhost:" + server.url("postgres").port() + "/warehouse";
            try (ServiceProcess service = StreamingService.start(
                    database,
                    "JAVA_TOOL_OPTIONS",
                    served.trusting(),
                    "ANNALS_STREAMS_OWN_IDENTITY_OF_PROJECTS",
                    "postgresql://sink@" + place + "\\,x,postgresql://sink@" + place + ",postgresql://sink@127.0.0.1:"
                            + server.url("postgres").port() + "/warehouse",
                    "ANNALS_STREAMS_CLIENT_CERTIFICATE_FILE",
                    client.pem().toString(),
                    "ANNALS_STREAMS_CLIENT_KEY_FILE",
                    client.key().toString())) {
                Project project = service.newProject(AuditLogFixture.ADMIN_TOKEN, "read", "write", "stream");
                append(project, 20);
                for (String url : List.of(
                        "postgresql://annals@" + place + "?sslcertmode=require",
                        "postgresql://sink@" + place + "?sslmode=require&sslcertmode=require",
                        "postgresql://sink@" + place + "?sslmode=require?sslcertmode=require")) {
                    put(service, project.token(), "postgresql", url, "")
                            .then()
                            .statusCode(422)
                            .body("errors[0].pointer", equalTo("/sink/url"));
                }
                put(service, project.token(), "postgresql", "postgresql://sink@" + place, "")
                        .then()
                        .statusCode(201);
                awaitError(service, project.token(), "28000");
                // Its certificate is for a name, which is checked before the service shows its own.
                String byAddress = "postgresql://sink@" + place.replace("localhost", "127.0.0.1");
                put(service, project.token(), "postgresql", byAddress + "?sslcertmode=require", "")
                        .then()
                        .statusCode(200);
                awaitError(service, project.token(), "No connection can be made");
                put(service, project.token(), "postgresql", "postgresql://sink@" + place + "?sslcertmode=require", "")
                        .then()
                        .statusCode(200);
                awaitAll(service, project.token());
                try (Connection warehouse = server.url("warehouse").connect()) {
                    assertThat(SqlFixture.texts(warehouse, "select count(*)::text from annals_record"))
                            .containsExactly("20");
                }
            }
        }
    }
}
