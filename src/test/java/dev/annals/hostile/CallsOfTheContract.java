package dev.annals.hostile;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.access.caller.Scope;
import io.quarkus.test.common.http.TestHTTPResource;
import io.swagger.v3.parser.OpenAPIV3Parser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Collectors;

/** Calls of each operation of the contract. They succeed if the caller has the right. */
abstract class CallsOfTheContract {

    static final HttpClient HTTP = HttpClient.newHttpClient();
    /** All that a project's token may have. */
    static final String[] SCOPES = Arrays.stream(Scope.values())
            .filter(scope -> !scope.isOfAdministration() && !scope.isOfLink())
            .map(Scope::text)
            .toArray(String[]::new);

    /** A grant that matches no person. */
    private static final String GRANT =
            "{\"issuer\": \"https://nowhere.example.org\", \"claim\": \"sub\", \"value\": \"s\", \"scopes\": [\"read\"]}";

    static final String ALL_CAPABILITIES =
            "\"whole_project\": true, \"capabilities\": [\"read\", \"export\", \"streams\"]";

    private static final String EVENT = "{\"specversion\": \"1.0\", \"id\": \"1\", \"source\": \"s\", \"type\": \"a\"}";

    final AuditLogFixture log = new AuditLogFixture();

    @TestHTTPResource("/")
    URI service;

    static String shown(Answer answer) {
        return answer.statusCode() / 100 == 2 ? "yes" : Integer.toString(answer.statusCode());
    }

    /** Links that show the record of {@link #append}, by their names in the table. */
    Map<String, String> links(Project project) {
        Map<String, String> links = new LinkedHashMap<>();
        links.put("a link", link(project, "\"subject_id\": \"s-1\""));
        links.put("a link to the project", link(project, "\"whole_project\": true"));
        links.put("one that exports and streams", link(project, ALL_CAPABILITIES));
        return links;
    }

    String link(Project project, String what) {
        Call create = new Call("POST", "/v1/viewer-links", "{" + what + "}", "");
        return text(send(create, project.token()).body(), "url").replaceAll(".*#token=", "");
    }

    static String text(String json, String field) {
        return json.replaceAll("(?s).*\"" + field + "\":\"([^\"]+)\".*", "$1");
    }

    static List<String> operationsOfTheContract() {
        List<String> operations = new ArrayList<>();
        new OpenAPIV3Parser()
                .read("openapi.yaml")
                .getPaths()
                .forEach((path, item) ->
                        item.readOperationsMap().keySet().forEach(method -> operations.add(method + " " + path)));
        return operations;
    }

    record Call(String method, String path, String body, String sequenceName) {

        Optional<String> sequence() {
            return sequenceName.isEmpty() ? Optional.empty() : Optional.of(sequenceName);
        }
    }

    /** A request that succeeds if the caller has the right. */
    Call call(String operation, Project project, String record) {
        String method = operation.substring(0, operation.indexOf(' '));
        String path = operation
                .substring(method.length() + 1)
                .replace("{id}", record)
                .replace("{project}", project.id().toString())
                .replace("{epoch}", "1")
                .replace("{level}/{tile}", "entries/000.p/1");
        if (path.startsWith("/v1/projections/")) {
            return new Call(method, path.replace("{name}", "statistics"), "", "");
        } else if (path.startsWith("/v1/sequences/")) {
            String name = "s" + UUID.randomUUID();
            if (!method.equals("PUT")) {
                Call define = new Call("PUT", "/v1/sequences/" + name, "{\"kind\": \"SYNCHRONOUS\"}", name);
                assertThat(send(define, project.token()).statusCode()).isEqualTo(201);
                return new Call(method, path.replace("{name}", name), "", name);
            }
            return new Call(method, path.replace("{name}", name), "{\"kind\": \"SYNCHRONOUS\"}", "");
        }
        if (path.startsWith("/v1/streams/")) {
            return streamCall(method, path, project);
        } else if (path.startsWith("/v1/alerts/")) {
            return alertCall(method, path, project);
        } else if (path.startsWith("/v1/views/")) {
            return viewCall(method, path, project);
        }
        return switch (operation) {
            case "PATCH /v1/projects/{project}" ->
                new Call(method, path, "{\"name\": \"" + UUID.randomUUID() + " new\"}", "");
            case "POST /v1/projects/{project}/close" ->
                new Call(method, "/v1/projects/" + log.newProject().id() + "/close", "", "");
            case "PUT /v1/projects/{project}/limits" -> new Call(method, path, "{\"records_per_second\": 100000}", "");
            case "POST /v1/viewer-links" -> new Call(method, path, "{\"subject_id\": \"s-1\"}", "");
            case "DELETE /v1/projects/{project}/tokens/{id}",
                    "POST /v1/projects/{project}/tokens/{id}/rotate",
                    "PUT /v1/projects/{project}/tokens/{id}/limits" -> {
                String issued = send(
                                new Call(
                                        "POST",
                                        "/v1/projects/" + project.id() + "/tokens",
                                        "{\"scopes\": [\"read\"]}",
                                        ""),
                                AuditLogFixture.ADMIN_TOKEN)
                        .body();
                String id = issued.replaceAll("(?s).*\"id\":\"([^\"]+)\".*", "$1");
                yield new Call(method, path.replace(record, id), method.equals("DELETE") ? "" : "{}", "");
            }
            case "POST /v1/projects/{project}/archives" ->
                new Call(
                        method,
                        "/v1/projects/" + projectWithALog() + "/archives",
                        "{\"first_sequence_id\": 1, \"last_sequence_id\": 1, \"file_name\": \"f\", \"bytes\": 1, \"sha256\": \""
                                + "0".repeat(64) + "\"}",
                        "");
            case "PUT /v1/projects/{project}/actions" -> new Call(method, path, "{}", "");
            case "GET /v1/projects/{project}/actions/{action}",
                    "PUT /v1/projects/{project}/actions/{action}",
                    "DELETE /v1/projects/{project}/actions/{action}" -> {
                String action = path.replace("{action}", "a");
                send(new Call("PUT", action, "{}", ""), AuditLogFixture.ADMIN_TOKEN);
                yield new Call(method, action, method.equals("PUT") ? "{}" : "", "");
            }
            case "POST /v1/projects/{project}/holds" ->
                // No record has this actor.
                new Call(method, path, "{\"actor_id\": \"nobody\", \"reason\": \"a case\"}", "");
            case "POST /v1/projects/{project}/holds/{id}/lift" -> {
                Call set = call("POST /v1/projects/{project}/holds", project, record);
                String id = text(send(set, AuditLogFixture.ADMIN_TOKEN).body(), "id");
                yield new Call(method, path.replace(record, id), "{\"reason\": \"a case\"}", "");
            }
            case "DELETE /v1/session" -> new Call(method, path, "", "");
            case "GET /v1/recorders" -> new Call(method, path + "?recorded_by=token:" + record, "", "");
            // The project is in the only database.
            case "POST /v1/projects/{project}/move" -> new Call(method, path, "{\"database\": \"main\"}", "");
            case "GET /v1/projects/{project}/move", "DELETE /v1/projects/{project}/move" -> {
                startMove(project);
                yield new Call(method, path, "", "");
            }
            case "PUT /v1/projects/{project}/look" -> new Call(method, path, "{\"name\": \"a shop\"}", "");
            case "POST /v1/projects/{project}/grants" -> new Call(method, path, GRANT, "");
            case "DELETE /v1/projects/{project}/grants/{id}" -> {
                Call make = call("POST /v1/projects/{project}/grants", project, record);
                String id = text(send(make, AuditLogFixture.ADMIN_TOKEN).body(), "id");
                yield new Call(method, path.replace(record, id), "", "");
            }
            case "POST /v1/project-logs" -> new Call(method, path, "{\"action\": \"a\"}", "");
            case "POST /v1/project-logs/batch" ->
                new Call(method, path, AuditLogFixture.batch("{\"action\": \"a\"}"), "");
            case "POST /v1/project-logs/import" -> new Call(method, path, "{\"action\": \"a\"}\n", "");
            case "POST /v1/cloudevents" -> new Call(method, path, EVENT, "");
            case "POST /v1/cloudevents/batch" -> new Call(method, path, "[" + EVENT + "]", "");
            case "POST /v1/logs" -> new Call(method, path, "{\"resourceLogs\": []}", "");
            case "GET /v1/project-logs/statistics" ->
                new Call(method, path + "?start=2026-01-01&end=2026-02-01&by=action", "", "");
            case "GET /v1/project-logs/suggestions" -> new Call(method, path + "?field=action", "", "");
            case "GET /v1/project-logs/log/consistency" -> new Call(method, path + "?from=0&to=1", "", "");
            case "POST /v1/project-logs/{id}/redactions" ->
                new Call(method, path, "{\"fields\": [\"message\"], \"reason\": \"a reason\"}", "");
            case "POST /v1/projects" -> new Call(method, path, "{\"name\": \"" + UUID.randomUUID() + " new\"}", "");
            case "POST /v1/projects/{project}/tokens" -> new Call(method, path, "{\"scopes\": [\"read\"]}", "");
            default -> {
                assertThat(method)
                        .as("%s: say here which request succeeds", operation)
                        .isEqualTo("GET");
                yield new Call(method, path, "", "");
            }
        };
    }

    /** A stream whose filter matches no record, so that nothing is delivered. */
    private Call streamCall(String method, String path, Project project) {
        Call set = new Call(
                "PUT",
                path.replaceAll("\\{name}.*", "s" + UUID.randomUUID()),
                "{\"sink\": {\"type\": \"webhook\", \"url\": \"https://sink.invalid/\", \"secret\": \"whsec_"
                        + "A".repeat(32) + "\"}, \"start\": \"9000-01-01\"}",
                "");
        if (method.equals("PUT")) {
            return set;
        }
        assertThat(send(set, project.token()).statusCode()).isEqualTo(201);
        String body = path.endsWith("/rewind") ? "{\"cursor\": \"0\"}" : "";
        return new Call(method, set.path() + path.substring("/v1/streams/{name}".length()), body, "");
    }

    /** An alert whose filter matches no record. */
    private Call alertCall(String method, String path, Project project) {
        Call set = new Call(
                "PUT",
                path.replace("{name}", "a" + UUID.randomUUID()),
                "{\"q\": \"nobody\", \"threshold\": 1, \"interval_seconds\": 60}",
                "");
        if (method.equals("PUT")) {
            return set;
        }
        assertThat(send(set, project.token()).statusCode()).isEqualTo(201);
        return new Call(method, set.path(), "", "");
    }

    private Call viewCall(String method, String path, Project project) {
        Call set = new Call("PUT", path.replace("{name}", "v" + UUID.randomUUID()), "{\"filter\": {}}", "");
        if (method.equals("PUT")) {
            return set;
        }
        assertThat(send(set, project.token()).statusCode()).isEqualTo(201);
        return new Call(method, set.path(), "", "");
    }

    record Answer(int statusCode, String body) {}

    Answer send(Call call, String token) {
        HttpRequest.Builder request = HttpRequest.newBuilder(service.resolve(call.path()))
                .method(
                        call.method(),
                        call.body().isEmpty()
                                ? HttpRequest.BodyPublishers.noBody()
                                : HttpRequest.BodyPublishers.ofString(call.body()));
        if (!call.body().isEmpty()) {
            request.header("Content-Type", typeAt(call.path()));
        }
        if (!token.isEmpty()) {
            request.header("Authorization", "Bearer " + token);
        }
        try {
            HttpResponse<InputStream> answer = HTTP.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
            try (BufferedReader body =
                    new BufferedReader(new InputStreamReader(answer.body(), StandardCharsets.UTF_8))) {
                return new Answer(answer.statusCode(), isStream(answer) ? firstEvent(body) : all(body));
            }
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(call.toString(), e);
        }
    }

    private static String typeAt(String path) {
        return switch (path) {
            case AuditLogFixture.IMPORT -> "application/x-ndjson";
            case "/v1/cloudevents" -> "application/cloudevents+json";
            case "/v1/cloudevents/batch" -> "application/cloudevents-batch+json";
            default -> "application/json";
        };
    }

    static boolean isStream(HttpResponse<?> answer) {
        return answer.headers().firstValue("Content-Type").orElse("").startsWith("text/event-stream");
    }

    /** A stream does not end. */
    static String firstEvent(BufferedReader stream) throws IOException {
        StringBuilder event = new StringBuilder();
        String line = "";
        while (line != null && !line.startsWith("data: ")) {
            line = stream.readLine();
            event.append(line).append('\n');
        }
        return event.toString();
    }

    static String all(BufferedReader body) {
        return body.lines().collect(Collectors.joining("\n"));
    }

    String append(Project project) {
        String id = UUID.randomUUID().toString();
        Call append = new Call(
                "POST",
                "/v1/project-logs",
                "{\"id\": \"" + id + "\", \"action\": \"a\", \"message\": \"m\", \"subject\": {\"id\": \"s-1\"}}",
                "");
        assertThat(send(append, project.token()).statusCode()).isEqualTo(201);
        return id;
    }

    /** A move to another database, which is none of this service's, so that it stays as it is. */
    private void startMove(Project project) {
        try {
            log.run(
                    "select annals.start_move(gen_random_uuid(), p.id, 'main', 'east') from annals.project as p where p.id = '"
                            + project.id()
                            + "' and not exists (select from annals.move as m where m.project_id = p.id and m.ended_at is null)");
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A project of one record, of which it is said that its log has it. */
    private UUID projectWithALog() {
        UUID id = log.newProject().id();
        try {
            log.run(
                    "insert into annals.audit_record (project_id, action) values ('" + id + "', 'a')",
                    "insert into annals.merkle_log (project_id, size, frontier) values ('" + id + "', 1, sha256(''))",
                    "insert into annals.projection_checkpoint (project_id, projection, sequence_id, generation) select '"
                            + id + "', name, 1, generation from annals.projection where name = 'log'");
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
        return id;
    }
}
