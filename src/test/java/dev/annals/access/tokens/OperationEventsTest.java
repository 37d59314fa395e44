package dev.annals.access.tokens;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.AuditLogFixture;
import dev.annals.ProjectTest;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Operations that change no project and no token have events, too, and a flood of failures has few. */
@QuarkusTest
class OperationEventsTest extends ProjectTest {

    @Inject
    TokenWatch watch;

    private static void sendWithoutValidToken(String address) {
        given().header("Authorization", "Bearer annals_wrong")
                .header("X-Forwarded-For", address)
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(401);
    }

    private long events(String condition) throws Exception {
        return log.number(
                "select count(*) from annals.feed where project_id = annals.administration() and " + condition);
    }

    @Test
    void failedAuthenticationsAreCountedByTheirAddress() throws Exception {
        for (int i = 0; i < 7; i++) {
            sendWithoutValidToken("198.51.100.77");
        }
        sendWithoutValidToken("not an address");
        watch.recordFailures().await().indefinitely();
        // In two events, if the minute ended between.
        assertThat(log.number("""
                        select sum((metadata ->> 'count')::integer) from annals.feed
                        where project_id = annals.administration() and action = 'annals.authentication.fail'
                          and subject_id = '198.51.100.77' and ip_address = '198.51.100.77'
                          and outcome = 'failure' and actor_type = 'service'
                        """)).isEqualTo(7);
        long events = events("action = 'annals.authentication.fail'");
        watch.recordFailures().await().indefinitely();
        assertThat(events("action = 'annals.authentication.fail'")).isEqualTo(events);
    }

    @Test
    void failuresThatCannotBeRecordedAreRecordedLater() throws Exception {
        watch.recordFailures().await().indefinitely();
        String mayRecord = " execute on function annals.record_operation(text, text, text, text, jsonb, uuid, inet) ";
        log.run("revoke" + mayRecord + "from annals_service");
        try {
            for (int i = 0; i < 3; i++) {
                sendWithoutValidToken("198.51.100.78");
            }
            sendWithoutValidToken("198.51.100.79");
            assertThatThrownBy(() -> watch.recordFailures().await().indefinitely())
                    .hasMessageContaining("record_operation");
        } finally {
            log.run("grant" + mayRecord + "to annals_service");
        }
        watch.recordFailures().await().indefinitely();
        assertThat(log.texts("""
                        select concat(subject_id, ' ', metadata ->> 'count') from annals.feed
                        where project_id = annals.administration() and action = 'annals.authentication.fail'
                          and subject_id in ('198.51.100.78', '198.51.100.79') order by 1
                        """)).containsExactly("198.51.100.78 3", "198.51.100.79 1");
    }

    /** {@code annals.state()} shows all columns but those that it leaves out, so a secret that it does not know would be shown. */
    @ParameterizedTest
    @CsvSource(textBlock = """
                    project, archive_required closed_at created_at id is_moving limits moved_to name placement placement_epoch retention_days
                    access_token, allowed_addresses created_at description expired_at expires_at filter_digest id issued_by limits project_id replaced_by revoked_at scopes
                    writer_grant, created_at project_id role_name
                    legal_hold, actor_id created_at id lift_reason lifted_at project_id reason subject_id
                    identity_grant, claim created_at description id issuer limits project_id revoked_at scopes value
                    identity_entry, created_at grant_id identity_id
                    archive, bytes created_at file_name first_sequence_id id last_sequence_id project_id sha256
                    stream, all_projects archive created_at filter format id link_id link_issued_by max_refusals name on_refusal only_public pause_reason paused_at project_id rewinds rewound_to secret_digest sink_type stop_reason stopped_at url
                    alert, created_at enabled id interval_seconds name project_id q threshold
                    """)
    void eventsShowNoColumnThatIsNotListedHere(String table, String columns) throws Exception {
        String some = "{\"id\": \"%1$s\", \"identity_id\": \"%1$s\", \"project_id\": \"%1$s\"}".formatted(project.id());
        assertThat(log.texts("select key from jsonb_object_keys(annals.state(jsonb_populate_record(null::annals."
                        + table + ", '" + some + "'))) as key order by key"))
                .containsExactly(columns.split(" "));
    }

    @Test
    void failuresFromManyAddressesBecomeFewEventsAndAllAreCounted() {
        TokenFailures failed = new TokenFailures(1);
        for (int i = 0; i < 100_000; i++) {
            failed.add("10." + (i >> 16) + "." + (i >> 8 & 255) + "." + (i & 255));
        }
        failed.add("10.0.0.7");
        List<TokenFailures.Failures> taken = failed.take();
        assertThat(taken).hasSize(TokenFailures.EVENTS + 1);
        assertThat(taken.get(0).address()).isEqualTo("10.0.0.7");
        assertThat(taken.stream().mapToLong(TokenFailures.Failures::count).sum())
                .isEqualTo(100_001);
        assertThat(failed.take()).isEmpty();
    }

    @Test
    void anExportAndARebuildAreRecordedWithTheirCaller() throws Exception {
        project.request()
                .contentType("application/json")
                .body("{\"action\": \"a\"}")
                .post(AuditLogFixture.LOGS);
        project.request().get(AuditLogFixture.LOGS + "/export").then().statusCode(200);
        assertThat(events("action = 'annals.export.start' and subject_id = '" + project.id()
                        + "' and actor_type = 'token' and metadata ->> 'format' = 'ndjson'"))
                .isOne();
        String rebuild = "action = 'annals.projection.rebuild' and subject_id = 'statistics'"
                + " and actor_id = 'ANNALS_ADMIN_TOKEN'";
        long before = events(rebuild);
        given().auth()
                .preemptive()
                .oauth2(AuditLogFixture.ADMIN_TOKEN)
                .post("/v1/projections/statistics/rebuild")
                .then()
                .statusCode(202);
        assertThat(events(rebuild)).isEqualTo(before + 1);
    }

    @Test
    void sequencesLeaveAnEventWhenTheyAreDefinedAndWhenTheyAreDeleted() throws Exception {
        String path = "/v1/sequences/numbers-" + project.id();
        for (int i = 0; i < 2; i++) {
            project.request()
                    .contentType("application/json")
                    .body("{\"kind\": \"BATCH\"}")
                    .put(path);
        }
        project.request()
                .contentType("application/json")
                .body("{\"kind\": \"COMPOSITE\"}")
                .put(path)
                .then()
                .statusCode(409);
        for (int i = 0; i < 2; i++) {
            project.request().delete(path);
        }
        for (String event : List.of(
                "action = 'annals.sequence.define' and metadata -> 'before' = 'null' and metadata #>> '{after,kind}' = 'BATCH'",
                "action = 'annals.sequence.delete' and metadata -> 'after' = 'null' and metadata #>> '{before,kind}' = 'BATCH'")) {
            assertThat(events(event + " and actor_type = 'token' and ip_address is not null and '" + project.id()
                            + "' in (metadata #>> '{after,project_id}', metadata #>> '{before,project_id}')"))
                    .as(event)
                    .isOne();
        }
    }

    @Test
    void theSchemasMigrationIsRecorded() throws Exception {
        assertThat(events(
                        "action = 'annals.schema.migrate' and metadata -> 'before' = 'null' and metadata -> 'after' = ("
                                + "select jsonb_build_object('version', max(version), 'migrations', count(*))"
                                + " from annals.flyway_schema_history where installed_rank > 0)"))
                .isOne();
    }
}
