package dev.annals.edges.delivery;

import static dev.annals.ProblemAssertions.pointers;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.core.append.ShortQueue;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Slack, Teams and PagerDuty get notices within their published limits. The server checks each body as the vendor's documents describe
 * it, and answers as the vendor does.
 */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
@TestProfile(ShortQueue.class)
class NoticeTest extends OneStream {

    private static final String STREAM = "/v1/streams/notices";
    private static final String SLACK = "/services/T0000/B0000/slack-secret";
    private static final String TEAMS =
            "/workflows/0123/triggers/manual/paths/invoke?api-version=1&sp=%2Ftriggers%2Fmanual%2Frun&sig=teams-secret";
    private static final String ROUTING_KEY = "R0123456789abcdef0123456789abcde";
    private static final String VIEWER = "https://audit.example.org/logs/#";
    private static final String HOSTILE =
            "<!channel> <@U0001> <https://evil.example|Open> & &lt;!here&gt; *b* _i_ ~s~ `c` @here :tada:"
                    + " [Open](https://evil.example) <at>all</at> {{DATE(2026-01-01T00:00:00Z)}} \\\" \u202Egnp.exe\u202C 🎉 مرحبا";
    private static final Map<String, Object> DEAD_LETTER = Map.of("on_refusal", "dead_letter", "max_refusals", 1);

    private record Says(int status, String body) {}

    private final List<JsonNode> taken = Collections.synchronizedList(new ArrayList<>());
    /** Breaches of a vendor's limits. */
    private final List<String> faults = Collections.synchronizedList(new ArrayList<>());
    /** The alerts that PagerDuty has open, by their deduplication keys. */
    private final Set<String> open = Collections.synchronizedSet(new LinkedHashSet<>());

    private volatile Function<JsonNode, Says> behaviour = body -> null;
    private volatile long lastMessage;
    private HttpServer server;

    NoticeTest() {
        super(STREAM);
    }

    @BeforeEach
    void start() throws Exception {
        project = log.newProject("read", "write", "stream");
        server = HttpServer.create(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0), 0);
        server.createContext("/services", exchange -> answer(exchange, SLACK, this::slack));
        server.createContext("/workflows", exchange -> answer(exchange, TEAMS, this::teams));
        server.createContext("/v2/enqueue", exchange -> answer(exchange, "/v2/enqueue", this::pagerDuty));
        server.start();
    }

    @AfterEach
    void stop() throws Exception {
        project.wrongRequest().delete(STREAM);
        server.stop(0);
        assertThat(faults).isEmpty();
        log.checkFeed(project.id());
    }

    private void answer(HttpExchange exchange, String url, Function<byte[], Says> receiver) throws IOException {
        try (exchange) {
            byte[] body = exchange.getRequestBody().readAllBytes();
            Says says = exchange.getRequestURI().toString().equals(url)
                    ? receiver.apply(body)
                    : new Says(404, "no_service");
            if (says.status() == 429) {
                exchange.getResponseHeaders().set("Retry-After", "1");
            }
            byte[] text = says.body().getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(says.status(), text.length == 0 ? -1 : text.length);
            exchange.getResponseBody().write(text);
        }
    }

    private Says taken(JsonNode body, Says good) {
        Says says = behaviour.apply(body);
        if (says == null) {
            taken.add(body);
        }
        return says == null ? good : says;
    }

    private void require(boolean holds, String limit) {
        if (!holds) {
            faults.add(limit);
        }
    }

    /** One message per second, 50 blocks, 3,000 characters of a text; {@code <} and {@code &} only where the service wrote them. */
    private Says slack(byte[] sent) {
        long now = System.nanoTime();
        boolean isEarly = lastMessage != 0 && now - lastMessage < 900_000_000L;
        require(!isEarly, "one message per second");
        JsonNode body = json(sent);
        require(body.path("blocks").size() <= 50 && sent.length <= 16_000, "50 blocks");
        require(body.path("text").asText().equals("Annals: notices"), "the text of notifications");
        for (JsonNode block : body.path("blocks")) {
            List<JsonNode> texts = block.path("type").asText().equals("context")
                    ? List.of(block.path("elements").get(0))
                    : List.of(block.path("text"));
            for (JsonNode text : texts) {
                String shown = text.path("text").asText();
                require(!shown.isEmpty() && shown.length() <= 3_000, "3,000 characters");
                boolean isPlain = text.path("type").asText().equals("plain_text") && !shown.contains("<");
                String link = "<" + VIEWER.replace("&", "&amp;") + "[!-~&&[^<>|]]+\\|Open in Annals>";
                require(isPlain || shown.matches(link), "a text that is no plain text: " + shown);
                require(!shown.replaceAll("&(amp|lt|gt);", "").matches("(?s).*[&<].*") || !isPlain, "an escape");
            }
        }
        requireHarmless(body);
        Says says = taken(body, new Says(200, "ok"));
        lastMessage = says.body().equals("ok") ? now : 0;
        return says;
    }

    /** 28 KB, and only elements of Adaptive Cards 1.4 in which text has no markup. */
    private Says teams(byte[] sent) {
        if (sent.length > 28_672) {
            faults.add("28 KB");
            return new Says(413, "");
        }
        JsonNode body = json(sent);
        JsonNode attachment = body.path("attachments").path(0);
        JsonNode card = attachment.path("content");
        require(
                body.path("type").asText().equals("message")
                        && attachment.path("contentType").asText().equals("application/vnd.microsoft.card.adaptive")
                        && card.path("type").asText().equals("AdaptiveCard")
                        && card.path("version").asText().equals("1.4"),
                "a message with a card");
        card.path("body").forEach(this::element);
        require(texts(card).stream().noneMatch(text -> text.contains("{{")), "a function of dates");
        requireHarmless(body);
        return taken(body, new Says(202, ""));
    }

    private void element(JsonNode element) {
        Set<String> members = new LinkedHashSet<>();
        element.fieldNames().forEachRemaining(members::add);
        switch (element.path("type").asText()) {
            case "Container" -> {
                require(Set.of("type", "separator", "items").equals(members), "Container");
                element.path("items").forEach(this::element);
            }
            case "RichTextBlock" -> {
                require(Set.of("type", "spacing", "inlines").containsAll(members), "RichTextBlock");
                element.path("inlines").forEach(this::element);
            }
            case "TextRun" -> {
                require(Set.of("type", "text", "weight", "isSubtle").containsAll(members), "TextRun");
                require(!element.path("text").asText().isEmpty(), "a text");
            }
            case "ActionSet" -> element.path("actions").forEach(this::element);
            case "Action.OpenUrl" -> {
                require(Set.of("type", "title", "url").equals(members), "Action.OpenUrl");
                require(element.path("url").asText().startsWith(VIEWER), "a link to the viewer");
            }
            default -> faults.add("an element: " + element);
        }
    }

    /** 512 KB, the fields of the Common Event Format, and one open alert per deduplication key. */
    private Says pagerDuty(byte[] sent) {
        JsonNode body = json(sent);
        if (!body.path("routing_key").asText().equals(ROUTING_KEY)) {
            return new Says(
                    400,
                    "{\"status\":\"invalid event\",\"errors\":[\"Invalid routing key " + body.path("routing_key")
                            + "\"]}");
        }
        String key = body.path("dedup_key").asText();
        JsonNode payload = body.path("payload");
        boolean isResolve = body.path("event_action").asText().equals("resolve");
        require(isResolve || body.path("event_action").asText().equals("trigger"), "event_action");
        require(!key.isEmpty() && key.length() <= 255 && sent.length <= 524_288, "dedup_key");
        if (!isResolve) {
            String summary = payload.path("summary").asText();
            require(!summary.isEmpty() && summary.length() <= 1_024, "summary");
            require(!payload.path("source").asText().isEmpty(), "source");
            require(
                    Set.of("critical", "error", "warning", "info")
                            .contains(payload.path("severity").asText()),
                    "severity");
            require(payload.path("custom_details").isObject(), "custom_details");
            require(body.path("client_url").asText().startsWith(VIEWER), "client_url");
            open.add(key);
        }
        requireHarmless(body);
        return taken(body, new Says(202, "{\"status\":\"success\",\"dedup_key\":\"" + key + "\"}"));
    }

    private void requireHarmless(JsonNode body) {
        texts(body)
                .forEach(text -> require(
                        text.codePoints().noneMatch(c -> (c < ' ' && c != '\n') || c == 0x7f || c == 0x202e),
                        "control characters"));
    }

    private JsonNode json(byte[] sent) {
        try {
            return JSON.readTree(sent);
        } catch (IOException e) {
            faults.add("no JSON: " + e.getMessage());
            return JSON.createObjectNode();
        }
    }

    private static List<String> texts(JsonNode node) {
        List<String> texts = new ArrayList<>();
        if (node.isTextual()) {
            texts.add(node.asText());
        }
        node.forEach(child -> texts.addAll(texts(child)));
        return texts;
    }

    private String origin() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    private Response set(String format, Map<String, Object> more) {
        Map<String, Object> members = new LinkedHashMap<>(more);
        members.put("format", format);
        return switch (format) {
            case "slack" -> set("webhook", origin(), origin() + SLACK, members);
            case "teams" -> set("webhook", origin() + "/", origin() + TEAMS, members);
            default -> set("webhook", origin() + "/v2/enqueue", ROUTING_KEY, members);
        };
    }

    /** Records whose texts are markup of each receiver, and which have more text than a notice; the first has the most metadata. */
    private void appendHostile(int count) throws Exception {
        String hostile = HOSTILE.replace("'", "''");
        log.run(
                "insert into annals.audit_record (project_id, action, outcome, message, actor_id, actor_name, metadata, ip_address)"
                        + " select '" + project.id() + "', 'act ' || n || ' ' || left(repeat(t, 3), 240), 'denied',"
                        + " repeat(t || chr(10) || chr(7), case n when 1 then 200 else 3 end), left(repeat(t, 9), 1000), left(repeat(t, 9), 1000),"
                        + " jsonb_build_object(left(t, 200), repeat(t, case n when 1 then 400 else 2 end), 'n', n), '2001:db8::1'"
                        + " from generate_series(1, " + count + ") as n, (values ('" + hostile + "')) as x (t)");
    }

    private List<Integer> numbers() {
        return taken.stream()
                .flatMap(body -> texts(body).stream())
                .filter(text -> text.matches("(?s)act [0-9]+ .*"))
                .map(text -> Integer.valueOf(text.split(" ", 3)[1]))
                .toList();
    }

    private static List<Integer> all(int count) {
        return IntStream.rangeClosed(1, count).boxed().toList();
    }

    private void awaitFailure(String why) throws Exception {
        Await.until(why, () -> String.valueOf(get().<String>path("last_error")).contains(why));
        get().then().body("state", equalTo("failing")).body("dead_letters", equalTo(0));
    }

    @Test
    void slackGetsHostileRecordsAsPlainTextInItsPace() throws Exception {
        appendHostile(9);
        append(45);
        set("slack", Map.of()).then().statusCode(201);
        awaitLag(0);
        assertThat(numbers()).isEqualTo(all(9));
        assertThat(taken.stream().mapToInt(body -> body.path("blocks").size()).sum())
                .isEqualTo(2 * 54 + taken.size());
        assertThat(taken.get(0).path("blocks").get(1).path("text").path("text").asText())
                .startsWith("act 1 &lt;!channel&gt; &lt;@U0001&gt;")
                .contains("\uFFFDgnp.exe", "🎉 مرحبا");
    }

    @Test
    void onlySlacksWordsAboutTheDataRefuseARecord() throws Exception {
        append(3);
        behaviour = body -> new Says(429, "rate_limited");
        set("slack", DEAD_LETTER).then().statusCode(201);
        awaitFailure("429. It says rate_limited");
        behaviour = body -> new Says(200, "<html>Please sign in</html>");
        awaitFailure("200.");
        behaviour = body -> new Says(403, "invalid_token");
        awaitFailure("invalid_token");
        behaviour = body -> body.path("blocks").size() > 3 || body.toString().contains("Record 2")
                ? new Says(400, "invalid_blocks")
                : null;
        awaitLag(0);
        get().then().body("dead_letters", equalTo(1));
        assertThat(taken).hasSize(2);
        append(1);
        behaviour = body -> new Says(410, "channel_is_archived");
        Await.until("it stops", () -> get().<String>path("state").equals("stopped"));
        get().then().body("stop_reason", containsString("channel_is_archived"));
        assertThat(get().asString()).doesNotContain("slack-secret");
    }

    @Test
    void teamsGetsHostileRecordsAsCardsWithoutMarkdown() throws Exception {
        appendHostile(20);
        set("teams", Map.of()).then().statusCode(201);
        awaitLag(0);
        assertThat(numbers()).isEqualTo(all(20));
        assertThat(texts(taken.get(0))).anyMatch(text -> text.startsWith("<!channel> <@U0001>"));
        behaviour = body -> new Says(401, "{\"error\":{\"code\":\"sig=teams-secret\"}}");
        append(1);
        awaitFailure("401");
        assertThat(get().asString()).doesNotContain("teams-secret");
        behaviour = body -> null;
        awaitLag(0);
    }

    @Test
    void pagerDutyPagesOncePerRecordWhateverIsLost() throws Exception {
        appendHostile(3);
        set(
                        "webhook",
                        origin() + "/v2/enqueue",
                        "x".repeat(32),
                        Map.of("format", "pagerduty", "on_refusal", "dead_letter", "max_refusals", 1))
                .then()
                .statusCode(201);
        awaitFailure("Invalid routing key");
        assertThat(get().asString()).doesNotContain("x".repeat(32));
        List<String> lost = Collections.synchronizedList(new ArrayList<>());
        behaviour = body -> {
            boolean isFirst = lost.stream().noneMatch(body.path("dedup_key").asText()::equals);
            lost.add(body.path("dedup_key").asText());
            return isFirst ? new Says(lost.size() == 1 ? 429 : 500, "") : null;
        };
        set("pagerduty", DEAD_LETTER).then().statusCode(200);
        awaitLag(0);
        assertThat(taken).hasSize(3);
        assertThat(lost).hasSize(6);
        assertThat(open).hasSize(3);
        JsonNode payload = taken.get(0).path("payload");
        assertThat(payload.path("severity").asText()).isEqualTo("warning");
        assertThat(payload.path("custom_details").path("address").asText()).isEqualTo("2001:db8::1");
        behaviour = body ->
                new Says(400, "{\"status\":\"invalid event\",\"errors\":[\"'payload.summary' is missing or blank\"]}");
        append(1);
        awaitLag(0);
        get().then().body("dead_letters", equalTo(1));
    }

    @Test
    void anAlertSaysWhatItCountedAndWhereToLook() throws Exception {
        project.wrongRequest()
                .contentType("application/json")
                .body(
                        "{\"q\": \"outcome:denied -actor:\\\"<!here> & [x](y)\\\"\", \"threshold\": 1, \"interval_seconds\": 86400}")
                .put("/v1/alerts/many-denied")
                .then()
                .statusCode(201);
        log.run("insert into annals.audit_record (project_id, action, outcome) select '" + project.id()
                + "', 'open', 'denied' from generate_series(1, 2)");
        Await.until(
                "it is raised",
                () -> project.request().get("/v1/alerts/many-denied").<Integer>path("raised") == 1);
        String alertId = project.request().get("/v1/alerts/many-denied").path("id");
        Map<String, String> secrets =
                Map.of("slack", origin() + SLACK, "teams", origin() + TEAMS, "pagerduty", ROUTING_KEY);
        for (String format : secrets.keySet()) {
            taken.clear();
            String url = format.equals("pagerduty") ? origin() + "/v2/enqueue" : origin();
            administrator()
                    .contentType("application/json")
                    .body(Map.of(
                            "sink",
                            Map.of("type", "webhook", "url", url, "secret", secrets.get(format)),
                            "format",
                            format,
                            "subject",
                            alertId,
                            "action",
                            "annals.alert.raise"))
                    .put(STREAM)
                    .then()
                    .statusCode(201);
            try {
                Await.until("it has arrived", () -> taken.size() == 1);
            } finally {
                administrator().delete(STREAM).then().statusCode(204);
            }
            String said = String.join("\n", texts(taken.get(0)))
                    .replace("&lt;", "<")
                    .replace("&gt;", ">")
                    .replace("&amp;", "&");
            assertThat(said)
                    .as(format)
                    .contains("Alert many-denied: more than 1 in 24 h", "outcome:denied -actor:\"<!here> & [x](y)\"")
                    .contains(
                            VIEWER + "q=outcome%3Adenied+-actor%3A%22%3C%21here%3E+%26+%5Bx%5D%28y%29%22&at=2&project="
                                    + project.id())
                    .containsPattern("T00:00:00\\+00:00 to [0-9-]+T00:00:00\\+00:00")
                    .containsPattern("(Count: ?\n?|\n)2\n");
        }
    }

    private static RequestSpecification administrator() {
        return given().auth().preemptive().oauth2(AuditLogFixture.ADMIN_TOKEN);
    }

    @Test
    void aSinkWithoutRecordsIsTestedWithoutPagingAnyone() throws Exception {
        for (String format : List.of("slack", "teams", "pagerduty")) {
            set(format, Map.of()).then().statusCode(format.equals("slack") ? 201 : 200);
            post("test").then().statusCode(200).body("outcome", equalTo("delivered"));
        }
        assertThat(taken).hasSize(3);
        assertThat(open).isEmpty();
    }

    @Test
    void theUrlOfAWebhookIsASecretAtTheHostThatIsShown() throws Exception {
        assertThat(pointers(set("webhook", origin() + SLACK, origin() + SLACK, Map.of("format", "slack"))
                        .then()
                        .extract()))
                .containsExactly("/sink/url");
        for (String elsewhere :
                List.of("http://127.0.0.1:1" + SLACK, "https://user@127.0.0.1/", "xoxb-token", "http://[")) {
            assertThat(pointers(set("webhook", origin(), elsewhere, Map.of("format", "slack"))
                            .then()
                            .extract()))
                    .containsExactly("/sink/secret");
        }
        assertThat(pointers(set("webhook", origin(), "short", Map.of("format", "pagerduty"))
                        .then()
                        .extract()))
                .containsExactly("/sink/secret");
        set("slack", Map.of()).then().statusCode(201);
        assertThat(pointers(set("webhook", origin(), null, Map.of("format", "teams"))
                        .then()
                        .extract()))
                .containsExactly("/sink/secret");
        set("webhook", origin(), null, Map.of("format", "slack")).then().statusCode(200);
        assertThat(log.texts("select metadata::text from annals.feed where project_id = annals.administration()"
                        + " and metadata::text like '%slack-secret%'"))
                .isEmpty();
        Map<String, Object> ofAll = Map.of(
                "sink",
                Map.of("type", "webhook", "url", origin(), "secret", origin() + SLACK),
                "format",
                "slack",
                "all_projects",
                true);
        assertThat(pointers(administrator()
                        .contentType("application/json")
                        .body(ofAll)
                        .put(STREAM)
                        .then()
                        .extract()))
                .contains("/all_projects");
    }
}
