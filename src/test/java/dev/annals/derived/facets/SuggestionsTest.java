package dev.annals.derived.facets;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ProjectTest;
import io.quarkus.test.junit.QuarkusTest;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Suggestions are values of the project's own records, and bounded. */
@QuarkusTest
class SuggestionsTest extends ProjectTest {

    private static final String SUGGESTIONS = AuditLogFixture.LOGS + "/suggestions?field=";

    /** A block of records, which the dictionary has. */
    private static void append(Project to, String record) {
        append(to, 600, record);
        append(to, 600, record);
    }

    private static void append(Project to, int count, String record) {
        to.request()
                .contentType("application/json")
                .body(AuditLogFixture.batch(Collections.nCopies(count, record).toArray(String[]::new))
                        .getBytes(StandardCharsets.UTF_8))
                .post(AuditLogFixture.BATCH)
                .then()
                .statusCode(201);
    }

    private static List<String> suggested(Project of, String query) {
        return of.request()
                .get(SUGGESTIONS + query)
                .then()
                .statusCode(200)
                .extract()
                .path("values");
    }

    @Test
    void valuesOfTheProjectAloneAreSuggested() throws Exception {
        String attack = "<img src=x onerror=alert(1)>";
        append(project, """
                {"action": "Volume_create", "actor": {"type": "user"}, "subject": {"type": "volume"}, "outcome": "success",
                 "message": "Søren was here", "metadata": {"%s": 1, "request_id": "x"}}""".formatted(attack));
        Project other = log.newProject();
        append(other, "{\"action\": \"vault_open\"}");
        Await.until(
                "the dictionary has the terms",
                () -> !suggested(project, "action").isEmpty()
                        && !suggested(other, "action").isEmpty());
        assertThat(suggested(project, "action&prefix=vO")).containsExactly("Volume_create");
        assertThat(suggested(project, "action&prefix=%25")).isEmpty();
        assertThat(suggested(other, "action&prefix=v")).containsExactly("vault_open");
        assertThat(suggested(project, "actor.type")).containsExactly("user");
        assertThat(suggested(project, "subject.type&prefix=v")).containsExactly("volume");
        assertThat(suggested(project, "outcome")).containsExactly("success");
        assertThat(suggested(project, "metadata")).containsExactly(attack, "request_id");
        assertThat(suggested(project, "metadata&limit=1")).containsExactly(attack);
        assertThat(suggested(project, "word&prefix=S%C3%B8")).containsExactly("soren");
        assertThat(suggested(project, "word&prefix=" + "x".repeat(256))).isEmpty();
    }

    /** The dictionary is written per 1,024 records. */
    @Test
    void valuesOfTheFirstRecordsAreSuggestedAtOnce() {
        Project young = log.newProject();
        assertThat(suggested(young, "action")).isEmpty();
        append(young, 1, """
                {"action": "Volume_create", "actor": {"type": "user", "id": "u-1", "name": "S\u00f8ren"}, "subject": {"type": "Volume"},
                 "outcome": "success", "message": "Sold out at 4f3a9b21, \u6d4b\u8bd5", "metadata": {"request_id": {"sort": "x"}, "": 1}}""");
        append(young, 1, "{\"action\": \"volume_create\", \"message\": \"" + "so ".repeat(2_000) + "solo\"}");
        assertThat(suggested(young, "action&prefix=vO")).containsExactly("Volume_create", "volume_create");
        assertThat(suggested(young, "action&prefix=v&limit=1")).containsExactly("Volume_create");
        assertThat(suggested(young, "action&prefix=%25")).isEmpty();
        assertThat(suggested(young, "actor.type")).containsExactly("user");
        assertThat(suggested(young, "subject.type&prefix=v")).containsExactly("Volume");
        assertThat(suggested(young, "outcome")).containsExactly("success");
        assertThat(suggested(young, "metadata")).containsExactly("request_id");
        assertThat(suggested(young, "word&prefix=S%C3%B8")).containsExactly("sold", "soren", "sort");
        assertThat(suggested(young, "word&prefix=4f")).isEmpty();
        assertThat(suggested(log.newProject(), "word")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "actor",
                "action&limit=0",
                "action&limit=51",
                "action&limit=x",
                "action&other=1",
                "action&prefix=%00"
            })
    void whatCannotBeSuggestedIsRefused(String query) {
        project.wrongRequest()
                .get(SUGGESTIONS + query)
                .then()
                .statusCode(400)
                .body("type", equalTo("urn:annals:problem:invalid-parameter"));
    }

    @Test
    void aPrefixIsBounded() {
        project.wrongRequest()
                .get(SUGGESTIONS + "word&prefix=" + URLEncoder.encode("é".repeat(257), StandardCharsets.UTF_8))
                .then()
                .statusCode(400)
                .body("detail", containsString("256"));
    }
}
