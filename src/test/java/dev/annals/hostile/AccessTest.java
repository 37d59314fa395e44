package dev.annals.hostile;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.access.tokens.TestTokens;
import io.quarkus.test.junit.QuarkusTest;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Each operation of the contract answers each kind of caller as the table of docs/privileges.md says, which has a row for each of
 * them. With {@code -Dprivileges.write=true} the table is written.
 */
@QuarkusTest
class AccessTest extends CallsOfTheContract {

    /** What is served beside the contract. */
    private static final List<String> OTHERS =
            List.of("GET /q/openapi", "GET /q/health/live", "GET /q/health/ready", "GET /q/metrics", "GET /");

    @Test
    void eachOperationAnswersEachCallerAsTheTableSays() throws Exception {
        Project victim = log.newProject(SCOPES);
        String record = append(victim);
        Map<String, String> tokens = new LinkedHashMap<>();
        tokens.put("no token", "");
        tokens.put("unknown token", TestTokens.unknown());
        Project other = log.newProject(SCOPES);
        append(other);
        tokens.put("another project", other.token());
        for (String scope : SCOPES) {
            tokens.put("`" + scope + "`", log.newToken(victim.id(), scope));
        }
        tokens.putAll(links(victim));
        tokens.put("`audit`", log.newToken("annals", "audit"));
        tokens.put("`admin`", log.newToken("annals", "admin"));
        List<String> operations = new ArrayList<>(operationsOfTheContract());
        operations.addAll(OTHERS);
        List<List<String>> rows = new ArrayList<>();
        for (String operation : operations) {
            List<String> row = new ArrayList<>(List.of("`" + operation + "`"));
            for (String token : tokens.values()) {
                row.add(shown(send(call(operation, victim, record), token)));
            }
            rows.add(row);
        }
        List<String> headings = new ArrayList<>(List.of("operation"));
        headings.addAll(tokens.keySet());
        SecurityTableTest.check(AccessTest.class, headings, rows);
        log.checkFeed(victim.id());
    }

    @Test
    void theTokenOfAnotherProjectReachesNothingOfThisOne() throws Exception {
        Project victim = log.newProject(SCOPES);
        Project other = log.newProject(SCOPES);
        String record = append(victim);
        append(other);
        long records = log.checkFeed(victim.id());
        String link = link(other, ALL_CAPABILITIES);
        for (String operation : operationsOfTheContract()) {
            Call call = call(operation, victim, record);
            for (String token : List.of(other.token(), link)) {
                assertThat(send(call, token).body())
                        .as(operation)
                        .doesNotContain(record, victim.id().toString());
            }
            call.sequence()
                    .ifPresent(name -> assertThat(
                                    send(new Call("POST", "/v1/sequences/" + name + "/values", "", ""), victim.token())
                                            .body())
                            .as("%s leaves the sequence as it is", operation)
                            .isEqualTo("{\"values\":[1]}"));
        }
        assertThat(log.checkFeed(victim.id())).isEqualTo(records);
    }

    /** A token that has ended is none, and says nothing about its project. */
    @Test
    void aTokenThatHasEndedIsAnsweredLikeOneThatNeverWasAndOneFromElsewhereIsRefused() throws Exception {
        List<List<String>> rows = SecurityTableTest.table("operation");
        int unknown = rows.get(0).indexOf("unknown token");
        Project victim = log.newProject(SCOPES);
        String record = append(victim);
        List<String> ended = new ArrayList<>();
        List<String> elsewhere = new ArrayList<>();
        for (String project : List.of(victim.id().toString(), "annals")) {
            String[] scopes = project.equals("annals") ? new String[] {"audit", "admin"} : SCOPES;
            ended.add(revoked(project, scopes));
            ended.add(expired(project, scopes));
            if (!project.equals("annals")) {
                ended.add(linkOfARevokedToken(victim));
            }
            elsewhere.add(text(issued(project, "\"allowed_addresses\": [\"192.0.2.0/24\"]", scopes), "token"));
        }
        for (List<String> row : rows.subList(2, rows.size())) {
            Call call = call(row.get(0).replace("`", ""), victim, record);
            for (String token : ended) {
                assertThat(shown(send(call, token)))
                        .as("%s with a token that has ended", row.get(0))
                        .isEqualTo(row.get(unknown));
            }
            for (String token : elsewhere) {
                assertThat(shown(send(call, token)))
                        .as("%s from an address that the token does not allow", row.get(0))
                        .isEqualTo(row.get(unknown).equals("401") ? "403" : row.get(unknown));
            }
        }
    }

    @Test
    void aClosedProjectIsReadAndRedactedAndTakesNothingNew() throws Exception {
        List<List<String>> rows = SecurityTableTest.table("operation");
        Project closed = log.newProject(SCOPES);
        String record = append(closed);
        String viewerLink = link(closed, ALL_CAPABILITIES);
        Map<String, Call> calls = new LinkedHashMap<>();
        for (String operation : operationsOfTheContract()) {
            calls.put(operation, call(operation, closed, record));
        }
        assertThat(send(new Call("POST", "/v1/projects/" + closed.id() + "/close", "", ""), AuditLogFixture.ADMIN_TOKEN)
                        .statusCode())
                .isEqualTo(200);
        for (List<String> row : rows.subList(2, rows.size())) {
            Call call = calls.get(row.get(0).replace("`", ""));
            // What needs no token says nothing of projects.
            if (call != null && row.get(1).equals("401")) {
                boolean streams = allowed(rows, row, "stream") && !allowed(rows, row, "read");
                boolean links = allowed(rows, row, "link") && !allowed(rows, row, "read");
                boolean reads = allowed(rows, row, "read") || allowed(rows, row, "redact");
                boolean adds = !reads && (allowed(rows, row, "write") || allowed(rows, row, "sequence"));
                String link = row.get(rows.get(0).indexOf("one that exports and streams"));
                if (link.equals("403") || reads) {
                    assertThat(shown(send(call, viewerLink)))
                            .as("%s with a link", row.get(0))
                            .isEqualTo(link);
                }
                int status = send(call, closed.token()).statusCode();
                if (streams) {
                    assertThat(status / 100).as(row.get(0)).isEqualTo(2);
                    continue;
                }
                assertThat(status).as(row.get(0)).isEqualTo(links ? 201 : reads ? 200 : adds ? 409 : 403);
            }
        }
        assertThat(log.checkFeed(closed.id())).isEqualTo(2);
    }

    private static boolean allowed(List<List<String>> rows, List<String> row, String scope) {
        return row.get(rows.get(0).indexOf("`" + scope + "`")).equals("yes");
    }

    private String issued(String project, String more, String... scopes) {
        String body =
                "{" + more + (more.isEmpty() ? "" : ", ") + "\"scopes\": [\"" + String.join("\", \"", scopes) + "\"]}";
        return send(new Call("POST", "/v1/projects/" + project + "/tokens", body, ""), AuditLogFixture.ADMIN_TOKEN)
                .body();
    }

    private String revoked(String project, String... scopes) {
        String token = issued(project, "", scopes);
        Call revoke = new Call("DELETE", "/v1/projects/" + project + "/tokens/" + text(token, "id"), "", "");
        assertThat(send(revoke, AuditLogFixture.ADMIN_TOKEN).statusCode()).isEqualTo(204);
        return text(token, "token");
    }

    private String linkOfARevokedToken(Project project) {
        String maker = issued(project.id().toString(), "", "link", "read", "stream");
        String link = text(
                send(new Call("POST", "/v1/viewer-links", "{" + ALL_CAPABILITIES + "}", ""), text(maker, "token"))
                        .body(),
                "url");
        Call revoke = new Call("DELETE", "/v1/projects/" + project.id() + "/tokens/" + text(maker, "id"), "", "");
        assertThat(send(revoke, AuditLogFixture.ADMIN_TOKEN).statusCode()).isEqualTo(204);
        return link.replaceAll(".*#token=", "");
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
}
