package dev.annals.hostile;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.SqlFixture;
import dev.annals.embedded.TestDatabase;
import dev.annals.project.Scope;
import dev.annals.project.TestTokens;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The tables of docs/security.md are true for each operation and for each object of the schema. */
@QuarkusTest
class SecurityTableTest {

    private static final Path DOCUMENT = Path.of("docs", "security.md");
    private static final Pattern CONTRACT =
            Pattern.compile("(?m)^  (?<path>/\\S+):$|^    (?<method>get|put|post|delete|patch):$");
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    /** All that a project's token may have. */
    private static final String[] SCOPES = Arrays.stream(Scope.values())
            .filter(scope -> scope != Scope.ADMIN && scope != Scope.AUDIT)
            .map(Scope::text)
            .toArray(String[]::new);

    private static final String NOTHING = "–";

    private final AuditLogFixture log = new AuditLogFixture();

    @TestHTTPResource("/")
    URI service;

    /** The rows of the table that has this first heading, cell by cell. */
    private static List<List<String>> table(String heading) throws IOException {
        List<List<String>> rows = new ArrayList<>();
        boolean inside = false;
        for (String line : Files.readAllLines(DOCUMENT)) {
            inside = line.startsWith("| " + heading + " |") || (inside && line.startsWith("|"));
            if (inside) {
                rows.add(Arrays.stream(line.substring(1, line.length() - 1).split("\\|", -1))
                        .map(String::strip)
                        .toList());
            }
        }
        assertThat(rows).as("the table of each " + heading).hasSizeGreaterThan(2);
        return rows;
    }

    @Test
    void eachOperationAnswersEachCallerAsTheTableSays() throws Exception {
        List<List<String>> rows = table("operation");
        List<String> callers = rows.get(0).subList(1, rows.get(0).size());
        assertThat(rows.subList(2, rows.size()).stream()
                        .map(row -> row.get(0).replace("`", ""))
                        .toList())
                .containsAll(operationsOfTheContract())
                .doesNotHaveDuplicates();
        Project victim = log.newProject(SCOPES);
        String record = append(victim);
        Map<String, String> tokens = new LinkedHashMap<>();
        tokens.put("nobody", "");
        tokens.put("unknown token", TestTokens.unknown());
        for (String scope : SCOPES) {
            tokens.put("`" + scope + "`", log.newToken(victim.id(), scope));
        }
        tokens.put("`audit`", log.newToken("annals", "audit"));
        tokens.put("`admin`", log.newToken("annals", "admin"));
        assertThat(tokens.keySet()).containsExactlyElementsOf(callers);
        for (List<String> row : rows.subList(2, rows.size())) {
            for (int i = 0; i < callers.size(); i++) {
                Call call = call(row.get(0).replace("`", ""), victim, record);
                int status = send(call, tokens.get(callers.get(i))).statusCode();
                assertThat(status >= 200 && status < 300 ? "yes" : Integer.toString(status))
                        .as("%s for %s", row.get(0), callers.get(i))
                        .isEqualTo(row.get(i + 1));
            }
        }
        log.checkFeed(victim.id());
    }

    @Test
    void theTokenOfAnotherProjectReachesNothingOfThisOne() throws Exception {
        Project victim = log.newProject(SCOPES);
        Project other = log.newProject(SCOPES);
        String record = append(victim);
        append(other);
        long records = log.checkFeed(victim.id());
        for (String operation : operationsOfTheContract()) {
            Call call = call(operation, victim, record);
            assertThat(send(call, other.token()).body())
                    .as(operation)
                    .doesNotContain(record, victim.id().toString());
            call.sequence()
                    .ifPresent(name -> assertThat(
                                    send(new Call("POST", "/v1/sequences/" + name + "/values", "", ""), victim.token())
                                            .body())
                            .as("%s leaves the sequence as it is", operation)
                            .isEqualTo("{\"values\":[1]}"));
        }
        assertThat(log.checkFeed(victim.id())).isEqualTo(records);
    }

    @Test
    void aTokenThatHasEndedOrComesFromElsewhereReachesNothing() throws Exception {
        Project victim = log.newProject(SCOPES);
        String record = append(victim);
        Map<String, Integer> tokens = new LinkedHashMap<>();
        for (String project : List.of(victim.id().toString(), "annals")) {
            String[] scopes = project.equals("annals") ? new String[] {"audit", "admin"} : SCOPES;
            tokens.put(revoked(project, scopes), 401);
            tokens.put(expired(project, scopes), 401);
            tokens.put(text(issued(project, "\"allowed_addresses\": [\"192.0.2.0/24\"]", scopes), "token"), 403);
        }
        for (String operation : operationsOfTheContract()) {
            Call call = call(operation, victim, record);
            for (Map.Entry<String, Integer> token : tokens.entrySet()) {
                assertThat(send(call, token.getKey()).statusCode())
                        .as(operation)
                        .isEqualTo(token.getValue());
            }
        }
    }

    @Test
    void aClosedProjectIsReadAndRedactedAndTakesNothingNew() throws Exception {
        List<List<String>> rows = table("operation");
        Project closed = log.newProject(SCOPES);
        String record = append(closed);
        Map<String, Call> calls = new LinkedHashMap<>();
        for (String operation : operationsOfTheContract()) {
            calls.put(operation, call(operation, closed, record));
        }
        assertThat(send(new Call("POST", "/v1/projects/" + closed.id() + "/close", "", ""), AuditLogFixture.ADMIN_TOKEN)
                        .statusCode())
                .isEqualTo(200);
        for (List<String> row : rows.subList(2, rows.size())) {
            Call call = calls.get(row.get(0).replace("`", ""));
            if (call != null) {
                boolean reads = row.get(3).equals("yes") || row.get(6).equals("yes");
                boolean adds = !reads && List.of(row.get(4), row.get(5)).contains("yes");
                assertThat(send(call, closed.token()).statusCode())
                        .as(row.get(0))
                        .isEqualTo(reads ? 200 : adds ? 409 : 403);
            }
        }
        assertThat(log.checkFeed(closed.id())).isEqualTo(2);
    }

    private String issued(String project, String more, String... scopes) {
        String body =
                "{" + more + (more.isEmpty() ? "" : ", ") + "\"scopes\": [\"" + String.join("\", \"", scopes) + "\"]}";
        return send(new Call("POST", "/v1/projects/" + project + "/tokens", body, ""), AuditLogFixture.ADMIN_TOKEN)
                .body();
    }

    private static String text(String json, String field) {
        return json.replaceAll("(?s).*\"" + field + "\":\"([^\"]+)\".*", "$1");
    }

    private String revoked(String project, String... scopes) {
        String token = issued(project, "", scopes);
        Call revoke = new Call("DELETE", "/v1/projects/" + project + "/tokens/" + text(token, "id"), "", "");
        assertThat(send(revoke, AuditLogFixture.ADMIN_TOKEN).statusCode()).isEqualTo(204);
        return text(token, "token");
    }

    private String expired(String project, String... scopes) {
        String token = issued(project, "", scopes);
        Call rotate = new Call(
                "POST",
                "/v1/projects/" + project + "/tokens/" + text(token, "id") + "/rotate",
                "{\"overlap_seconds\": 0}",
                "");
        assertThat(send(rotate, AuditLogFixture.ADMIN_TOKEN).statusCode()).isEqualTo(201);
        return text(token, "token");
    }

    private static List<String> operationsOfTheContract() throws IOException {
        List<String> operations = new ArrayList<>();
        String path = "";
        for (Matcher line = CONTRACT.matcher(Files.readString(Path.of("openapi.yaml"))); line.find(); ) {
            if (line.group("path") != null) {
                path = line.group("path");
            } else {
                operations.add(line.group("method").toUpperCase(Locale.ROOT) + " " + path);
            }
        }
        return operations;
    }

    private record Call(String method, String path, String body, String sequenceName) {

        Optional<String> sequence() {
            return sequenceName.isEmpty() ? Optional.empty() : Optional.of(sequenceName);
        }
    }

    /** A request that succeeds for whoever may send it. */
    private Call call(String operation, Project project, String record) {
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
        return switch (operation) {
            case "PATCH /v1/projects/{project}" ->
                new Call(method, path, "{\"name\": \"" + UUID.randomUUID() + " new\"}", "");
            case "POST /v1/projects/{project}/close" ->
                new Call(method, "/v1/projects/" + log.newProject().id() + "/close", "", "");
            case "DELETE /v1/projects/{project}/tokens/{id}", "POST /v1/projects/{project}/tokens/{id}/rotate" -> {
                String issued = send(
                                new Call(
                                        "POST",
                                        "/v1/projects/" + project.id() + "/tokens",
                                        "{\"scopes\": [\"read\"]}",
                                        ""),
                                AuditLogFixture.ADMIN_TOKEN)
                        .body();
                String id = issued.replaceAll("(?s).*\"id\":\"([^\"]+)\".*", "$1");
                yield new Call(method, path.replace(record, id), method.equals("POST") ? "{}" : "", "");
            }
            case "POST /v1/project-logs" -> new Call(method, path, "{\"action\": \"a\"}", "");
            case "POST /v1/project-logs/batch" ->
                new Call(method, path, AuditLogFixture.batch("{\"action\": \"a\"}"), "");
            case "POST /v1/project-logs/import" -> new Call(method, path, "{\"action\": \"a\"}\n", "");
            case "GET /v1/project-logs/statistics" ->
                new Call(method, path + "?start=2026-01-01&end=2026-02-01&by=action", "", "");
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

    private record Answer(int statusCode, String body) {}

    private Answer send(Call call, String token) {
        HttpRequest.Builder request = HttpRequest.newBuilder(service.resolve(call.path()))
                .method(
                        call.method(),
                        call.body().isEmpty()
                                ? HttpRequest.BodyPublishers.noBody()
                                : HttpRequest.BodyPublishers.ofString(call.body()));
        if (!call.body().isEmpty()) {
            request.header(
                    "Content-Type",
                    call.path().equals(AuditLogFixture.IMPORT) ? "application/x-ndjson" : "application/json");
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

    private static boolean isStream(HttpResponse<?> answer) {
        return answer.headers().firstValue("Content-Type").orElse("").startsWith("text/event-stream");
    }

    /** A stream does not end. */
    private static String firstEvent(BufferedReader stream) throws IOException {
        StringBuilder event = new StringBuilder();
        String line = "";
        while (line != null && !line.startsWith("data: ")) {
            line = stream.readLine();
            event.append(line).append('\n');
        }
        return event.toString();
    }

    private static String all(BufferedReader body) {
        return body.lines().collect(Collectors.joining("\n"));
    }

    private String append(Project project) {
        String id = UUID.randomUUID().toString();
        Call append = new Call(
                "POST", "/v1/project-logs", "{\"id\": \"" + id + "\", \"action\": \"a\", \"message\": \"m\"}", "");
        assertThat(send(append, project.token()).statusCode()).isEqualTo(201);
        return id;
    }

    /** A failure shows all rows as they are, to be taken over where they are meant to be so. */
    @Test
    void eachRoleHasTheRightsOnEachObjectThatTheTableSays() throws Exception {
        List<List<String>> rows = table("object");
        assertThat(rows.get(0)).containsExactly("object", "`annals_writer`", "`annals_service`", "any other login");
        assertThat(shown(rows.subList(2, rows.size()))).isEqualTo(shown(rights()));
    }

    private static String shown(List<List<String>> rows) {
        StringBuilder shown = new StringBuilder();
        rows.forEach(row -> shown.append("| ").append(String.join(" | ", row)).append(" |\n"));
        return shown.toString();
    }

    private List<List<String>> rights() throws SQLException {
        String stranger = "annals_test_stranger_" + UUID.randomUUID().toString().replace("-", "");
        List<List<String>> rows = new ArrayList<>();
        try (Connection connection = fresh();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("create role " + stranger);
            try (PreparedStatement select = connection.prepareStatement(RIGHTS)) {
                select.setString(1, stranger);
                try (ResultSet row = select.executeQuery()) {
                    while (row.next()) {
                        rows.add(List.of(
                                row.getString(1),
                                cell(row.getString(2)),
                                cell(row.getString(3)),
                                cell(row.getString(4))));
                    }
                }
            }
            connection.rollback();
        }
        return rows;
    }

    /** A database in which nobody has made anything yet. */
    private static Connection fresh() throws SQLException {
        return TestDatabase.createMigratedDatabase().connect();
    }

    private static String cell(String rights) {
        return rights == null || rights.isEmpty() ? NOTHING : rights;
    }

    private static final String RIGHTS = """
            with roles (number, name) as (values (1, 'annals_writer'::name), (2, 'annals_service'), (3, ?::name)),
            objects (kind, oid, name, owner, number, right_name, has, columns) as (
              select 'schema', n.oid, n.nspname::text, n.nspowner, r.number, lower(p), has_schema_privilege(r.name, n.oid, p), null
              from pg_namespace n, roles r, unnest(array['USAGE', 'CREATE']) p where n.nspname = 'annals'
              union all
              select case c.relkind when 'v' then 'view' else 'table' end, c.oid, c.relname::text, c.relowner, r.number, lower(p),
                has_table_privilege(r.name, c.oid, p),
                case when p in ('SELECT', 'INSERT', 'UPDATE') and not has_table_privilege(r.name, c.oid, p) then (
                  select string_agg(a.attname, ', ' order by a.attnum) from pg_attribute a
                  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                    and has_column_privilege(r.name, c.oid, a.attnum, p)) end
              from pg_class c, roles r,
                unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) p
              where c.relnamespace = 'annals'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
              union all
              select 'sequence', c.oid, c.relname::text, c.relowner, r.number, lower(p), has_sequence_privilege(r.name, c.oid, p), null
              from pg_class c, roles r, unnest(array['USAGE', 'SELECT', 'UPDATE']) p
              where c.relnamespace = 'annals'::regnamespace and c.relkind = 'S'
                and not exists (select from pg_depend d where d.objid = c.oid and d.deptype in ('a', 'i'))
              union all
              select case when f.prosecdef then 'function, as the owner' else 'function' end, f.oid,
                f.proname || '(' || oidvectortypes(f.proargtypes) || ')', f.proowner, r.number, 'execute',
                has_function_privilege(r.name, f.oid, 'EXECUTE'), null
              from pg_proc f, roles r where f.pronamespace = 'annals'::regnamespace
              union all
              select 'domain', t.oid, t.typname::text, t.typowner, r.number, 'usage', has_type_privilege(r.name, t.oid, 'USAGE'), null
              from pg_type t, roles r where t.typnamespace = 'annals'::regnamespace and t.typtype = 'd'
            )
            select kind || ' `' || name || '`',
              string_agg(right_name || coalesce(' of ' || columns, ''), ', ' order by right_name) filter (where number = 1 and (has or columns is not null)),
              string_agg(right_name || coalesce(' of ' || columns, ''), ', ' order by right_name) filter (where number = 2 and (has or columns is not null)),
              string_agg(right_name || coalesce(' of ' || columns, ''), ', ' order by right_name) filter (where number = 3 and (has or columns is not null))
            from objects group by kind, oid, name
            order by array_position(array['schema', 'table', 'view', 'sequence', 'function', 'function, as the owner', 'domain'], kind), name
            """;

    @Test
    void everythingInTheSchemaBelongsToItsOwner() throws Exception {
        try (Connection connection = fresh()) {
            assertThat(SqlFixture.texts(connection, """
                    select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
                    where n.nspname = 'annals' and c.relowner <> n.nspowner
                    union all
                    select f.proname from pg_proc f join pg_namespace n on n.oid = f.pronamespace
                    where n.nspname = 'annals' and f.proowner <> n.nspowner
                    """)).isEmpty();
        }
    }

    /** Whoever runs as the owner and looks names up where its caller says runs what its caller says. */
    @Test
    void everyFunctionThatRunsAsTheOwnerFixesItsSearchPath() throws Exception {
        try (Connection connection = fresh()) {
            assertThat(SqlFixture.texts(connection, """
                    select proname from pg_proc where pronamespace = 'annals'::regnamespace and prosecdef
                      and not exists (select from unnest(proconfig) as setting where setting like 'search\\_path=%')
                    """)).isEmpty();
        }
    }
}
