package dev.annals.core.append;

import static dev.annals.AuditLogFixture.IMPORT;
import static dev.annals.AuditLogFixture.LOGS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.notNullValue;

import dev.annals.OneByOne;
import dev.annals.ProjectTest;
import dev.annals.SqlFixture;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import io.restassured.response.ValidatableResponse;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A request whose id an open transaction holds waits so long and no longer, and is told to come again. */
@QuarkusTest
@OneByOne
@TestProfile(ShortQueue.class)
@Timeout(60)
class HeldTooLongIT extends ProjectTest {

    private static final int BATCH = ShortQueue.BATCH;

    private ValidatableResponse append(UUID id) {
        return project.request()
                .contentType("application/json")
                .body(line(id))
                .post(LOGS)
                .then();
    }

    private static String line(UUID id) {
        return "{\"id\": \"" + id + "\", \"action\": \"held\"}";
    }

    private static void assertToldToComeAgain(ValidatableResponse answer) {
        answer.statusCode(503)
                .header("Retry-After", notNullValue())
                .body("type", equalTo("urn:annals:problem:unavailable"))
                .body("detail", containsString("holds the id of a record"));
    }

    @Test
    void aRecordCanBeSentAgain() throws Exception {
        try (Connection holder = log.connect()) {
            UUID id = SqlFixture.insert(holder, project.id(), "held");
            assertToldToComeAgain(append(id));
            holder.rollback();
            append(id).statusCode(201);
        }
    }

    @Test
    void anUploadSaysHowFarItCame() throws Exception {
        List<UUID> lines = new ArrayList<>();
        for (int i = 0; i < 3 * BATCH; i++) {
            lines.add(UUID.randomUUID());
        }
        try (Connection holder = log.connect()) {
            lines.set(BATCH, SqlFixture.insert(holder, project.id(), "held"));
            String body = lines.stream().map(HeldTooLongIT::line).collect(Collectors.joining("\n"));
            assertToldToComeAgain(project.wrongRequest()
                    .contentType("application/x-ndjson")
                    .body(body.getBytes(StandardCharsets.UTF_8))
                    .post(IMPORT)
                    .then()
                    .body("settled_lines", equalTo(BATCH)));
            holder.rollback();
        }
        assertThat(log.feed(project.id())).containsExactlyElementsOf(lines.subList(0, BATCH));
    }
}
