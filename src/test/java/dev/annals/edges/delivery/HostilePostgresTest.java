package dev.annals.edges.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import java.util.EnumMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A server that is called a PostgreSQL sink gets no memory and no time of the service, and the stream says why. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class HostilePostgresTest {

    private static final String STREAM = "/v1/streams/hostile";
    private static final String LATE = "It did not answer within 2000 ms.";
    private static final String BROKEN = "No connection can be made, or it broke.";
    private static final String ITERATIONS = "Its login asks for too many iterations.";
    private static final String ANNOUNCED = "It announces a message of 1500000000 bytes.";
    private static final String MESSAGES = "It answers with too many messages.";
    private static final Map<HostilePostgres.Attack, String> REASONS = new EnumMap<>(Map.ofEntries(
            Map.entry(HostilePostgres.Attack.SILENCE, LATE),
            Map.entry(HostilePostgres.Attack.DRIBBLE, LATE),
            Map.entry(HostilePostgres.Attack.DRIBBLE_AFTER_THE_LOGIN, LATE),
            Map.entry(HostilePostgres.Attack.TLS_THAT_NEVER_COMES, LATE),
            Map.entry(HostilePostgres.Attack.MORE_THAN_TLS, "It says more than whether it has TLS."),
            Map.entry(HostilePostgres.Attack.ITERATIONS, ITERATIONS),
            Map.entry(HostilePostgres.Attack.MANY_CHALLENGES, ITERATIONS),
            Map.entry(HostilePostgres.Attack.LARGE_LOGIN, ANNOUNCED),
            Map.entry(HostilePostgres.Attack.LARGE_ERROR, ANNOUNCED),
            Map.entry(HostilePostgres.Attack.LARGE_ROW, "It announces a message of 300004 bytes."),
            Map.entry(HostilePostgres.Attack.ENDLESS_NOTICES, "It answers with more than 1048576 bytes."),
            Map.entry(HostilePostgres.Attack.ENDLESS_ROWS, MESSAGES),
            Map.entry(HostilePostgres.Attack.MANY_COLUMNS, "It announces a message of 1310706 bytes."),
            Map.entry(HostilePostgres.Attack.ARRAY, "It answers with columns that were not asked for."),
            Map.entry(HostilePostgres.Attack.ERROR_WITHOUT_A_CODE, BROKEN),
            Map.entry(HostilePostgres.Attack.ERROR_WITH_A_STRANGE_CODE, "It answered with the error without a code.")));

    private Project project;

    @BeforeEach
    void makeAProject() {
        project = new AuditLogFixture().newProject("read", "write", "stream");
    }

    @AfterEach
    void nothingIsLeft() {
        project.wrongRequest().delete(STREAM);
    }

    private void set(HostilePostgres server) {
        project.request()
                .contentType("application/json")
                .body("{\"sink\": {\"type\": \"postgresql\", \"url\": \"" + server.url() + "\", \"secret\": \"s\"}}")
                .put(STREAM)
                .then()
                .statusCode(201);
    }

    @ParameterizedTest
    @EnumSource
    void itIsLeftAndTheStreamSaysWhy(HostilePostgres.Attack attack) throws Exception {
        try (HostilePostgres server = new HostilePostgres(attack)) {
            set(server);
            Response tested = project.request().post(STREAM + "/test");
            assertThat(tested.<String>path("outcome")).isEqualTo("failed");
            assertThat(tested.<String>path("answer")).isEqualTo(REASONS.get(attack));
            project.request()
                    .contentType("application/json")
                    .body("{\"action\": \"delivered\"}")
                    .post(AuditLogFixture.LOGS)
                    .then()
                    .statusCode(201);
            Await.until("it fails", () -> project.request().get(STREAM).<Integer>path("failures") > 0);
            assertThat(project.request().get(STREAM).<String>path("last_error")).isEqualTo(REASONS.get(attack));
            project.request().delete(STREAM);
            Await.until("no connection is left", () -> server.open.get() == 0);
        }
    }
}
