package dev.annals.edges.delivery;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import io.restassured.response.Response;
import io.restassured.response.ValidatableResponse;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A test of one stream, of a project that the test makes. */
abstract class OneStream {

    static final ObjectMapper JSON = new ObjectMapper();

    final AuditLogFixture log = new AuditLogFixture();
    Project project;
    private final String path;

    /** @param path such as {@code /v1/streams/events} */
    OneStream(String path) {
        this.path = path;
    }

    /**
     * Defines the stream.
     *
     * @param more members of the request beside the sink
     */
    Response set(String type, String url, @Nullable String secret, Map<String, Object> more) {
        ObjectNode body = JSON.createObjectNode();
        ObjectNode sink = body.putObject("sink").put("type", type).put("url", url);
        if (secret != null) {
            sink.put("secret", secret);
        }
        more.forEach((name, value) -> body.set(name, JSON.valueToTree(value)));
        return project.wrongRequest()
                .contentType("application/json")
                .body(body.toString())
                .put(path);
    }

    /** Appends records that differ in their messages. */
    void append(int count) throws Exception {
        log.run("insert into annals.audit_record (project_id, action, message) select '" + project.id()
                + "', 'act', 'Record ' || n from generate_series(1, " + count + ") as n");
    }

    /** Asks for something to be done with the stream, such as {@code pause}. */
    Response post(String verb) {
        return project.request().post(path + "/" + verb);
    }

    ValidatableResponse rewind(String cursor) {
        return project.request()
                .contentType("application/json")
                .body("{\"cursor\": \"" + cursor + "\"}")
                .post(path + "/rewind")
                .then()
                .statusCode(200);
    }

    Response get() {
        return project.request().get(path).then().statusCode(200).extract().response();
    }

    void awaitLag(int lag) throws Exception {
        Await.until("the lag is " + lag, () -> get().<Integer>path("lag") == lag);
    }
}
