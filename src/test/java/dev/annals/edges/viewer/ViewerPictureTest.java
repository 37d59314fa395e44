package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static io.restassured.RestAssured.given;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.ColorScheme;
import com.microsoft.playwright.options.ReducedMotion;
import dev.annals.AuditLogFixture;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.net.URI;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * Draws the documents' pictures: {@code mvn test -Dtest=ViewerPictureTest -Dviewer.pictures=docs}. The records are the
 * same each time.
 */
@QuarkusTest
@EnabledIfSystemProperty(named = "viewer.pictures", matches = ".+", disabledReason = "draws the documents' pictures")
class ViewerPictureTest {

    private record Kind(String action, String subjectType, String subject, String message) {}

    private static final List<Kind> KINDS = List.of(
            new Kind("user_login", "session", "web console", "Signed in with a security key"),
            new Kind("volume_create", "volume", "pg-data", "Volume 'pg-data' has been created, 200 GiB in ams3"),
            new Kind("role_grant", "role", "billing-admin", "Role 'billing-admin' granted to tom.berg@example.org"),
            new Kind(
                    "api_key_rotate", "api_key", "ci-release", "Key 'ci-release' rotated; the old one expires in 24 h"),
            new Kind("backup_run", "database", "orders-eu", "Backup of 'orders-eu' finished in 3 min 12 s"),
            new Kind("firewall_rule_update", "firewall", "edge-fra1", "Rule 14 now allows 443/tcp from 10.2.0.0/16"),
            new Kind("invoice_export", "invoice", "2026-02", "Invoices of February exported as CSV"),
            new Kind("deployment_start", "service", "checkout", "Deployment of 'checkout' 2026.11.1 started"));

    /** Actions of machines. The others are people's. */
    private static final Set<String> AUTOMATED = Set.of("backup_run", "deployment_start", "api_key_rotate");

    private static final Map<String, String> PIPELINE =
            Map.of("type", "service", "id", "svc-4", "name", "deploy-pipeline");
    private static final List<Map<String, String>> PEOPLE = List.of(
            Map.of("type", "user", "id", "u-19283", "name", "jane.doe@example.org"),
            Map.of("type", "user", "id", "u-20117", "name", "omar.haddad@example.org"),
            Map.of("type", "user", "id", "u-18840", "name", "li.wei@example.org"),
            Map.of("type", "user", "id", "u-21455", "name", "sofia.rossi@example.org"));

    private static final Instant LAST = Instant.parse("2026-03-13T15:42:07Z");
    private static final int DAYS = 60;

    @Inject
    AuditLogFixture log;

    @TestHTTPResource("/")
    URI service;

    @Test
    void draw() throws Exception {
        String id = log.newProject().id().toString();
        String token = given().auth()
                .oauth2(AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body("{\"scopes\": [\"read\", \"write\"], \"description\": \"Shop backend\"}")
                .post("/v1/projects/" + id + "/tokens")
                .path("token");
        AuditLogFixture.Project project = new AuditLogFixture.Project(UUID.fromString(id), token);
        given().auth()
                .oauth2(AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body("{\"name\": \"shop\"}")
                .patch("/v1/projects/" + project.id())
                .then()
                .statusCode(200);
        List<Map<String, Object>> records = records(new Random(7));
        for (int i = 0; i < records.size(); i += 1000) {
            project.request()
                    .contentType("application/json")
                    .body(new ObjectMapper()
                            .writeValueAsBytes(
                                    Map.of("records", records.subList(i, Math.min(records.size(), i + 1000)))))
                    .post(AuditLogFixture.BATCH)
                    .then()
                    .statusCode(201);
        }
        try (Chromium chromium = Chromium.start()) {
            draw(chromium, project, records.size(), ColorScheme.LIGHT, "viewer.png");
            draw(chromium, project, records.size(), ColorScheme.DARK, "viewer-dark.png");
        }
    }

    private void draw(Chromium chromium, AuditLogFixture.Project project, int count, ColorScheme scheme, String name) {
        Browser.NewContextOptions options = new Browser.NewContextOptions()
                .setColorScheme(scheme)
                .setReducedMotion(ReducedMotion.REDUCE)
                .setViewportSize(1360, 800)
                .setDeviceScaleFactor(1.25);
        try (Guarded guarded = chromium.open(options, service)) {
            Page page = guarded.page;
            page.navigate(service.toString());
            page.fill("#token", project.token());
            page.keyboard().press("Enter");
            assertThat(page.locator("#live")).hasText("Live");
            assertThat(page.locator("#histogram")).isVisible();
            page.locator("#proof-state").click();
            page.locator("#take-over").click();
            page.locator("#close-proof").click();
            page.locator("#rows tr:has(.badge.failure)").first().click();
            assertThat(page.locator("#detail pre")).isVisible();
            assertThat(page.locator("#detail-proof")).containsText("Proved at size");
            // The projection counts a moment behind the feed.
            assertThat(page.locator("#histogram-text"))
                    .hasText(Pattern.compile("^" + String.format(Locale.ROOT, "%,d", count)));
            page.evaluate("scrollTo(0, 0)");
            assertThat(page.locator("#rows tr .mark").first()).hasAttribute("data-state", "proved");
            page.screenshot(new Page.ScreenshotOptions().setPath(Path.of(System.getProperty("viewer.pictures"), name)));
        }
    }

    /** Two months of work: busy on weekdays, quiet at weekends, one bad day. */
    private static List<Map<String, Object>> records(Random random) {
        List<Map<String, Object>> records = new ArrayList<>();
        for (int back = DAYS - 1; back >= 0; back--) {
            Instant day = LAST.minus(back, ChronoUnit.DAYS);
            boolean weekend = day.atOffset(ZoneOffset.UTC).getDayOfWeek().getValue() > 5;
            int count = (weekend ? 12 : 60) + random.nextInt(25);
            for (int i = count; i > 0; i--) {
                Instant time = day.minusMillis(i * 391_000L + random.nextInt(300_000));
                records.add(record(random, time, back == 18 ? 0.3 : 0.04));
            }
        }
        return records;
    }

    private static Map<String, Object> record(Random random, Instant time, double failing) {
        Kind kind = KINDS.get(random.nextInt(KINDS.size()));
        double luck = random.nextDouble();
        String outcome = luck < failing ? "failure" : luck < failing * 1.6 ? "denied" : "success";
        String message = switch (outcome) {
            case "failure" -> "Not completed: the target did not answer within 30 s";
            case "denied" -> "Refused: the role 'viewer' does not allow this";
            default -> kind.message();
        };
        return Map.of(
                "action",
                kind.action(),
                "actor",
                AUTOMATED.contains(kind.action()) ? PIPELINE : PEOPLE.get(random.nextInt(PEOPLE.size())),
                "subject",
                Map.of("type", kind.subjectType(), "id", "r-" + (100 + random.nextInt(900)), "name", kind.subject()),
                "outcome",
                outcome,
                "ip_address",
                "185.98.122." + (2 + random.nextInt(250)),
                "message",
                message,
                "timestamp",
                time.toString(),
                "metadata",
                Map.of("region", random.nextBoolean() ? "ams3" : "fra1", "duration_ms", 8 + random.nextInt(900)));
    }
}
