package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Request;
import com.microsoft.playwright.Route;
import com.microsoft.playwright.options.AriaRole;
import com.microsoft.playwright.options.BoundingBox;
import com.microsoft.playwright.options.ColorScheme;
import dev.annals.AuditLogFixture;
import dev.annals.BreakablePath;
import dev.annals.Slow;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import java.net.URI;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The viewer in a real browser, over real records. Every page is watched by {@link Guarded}. */
@Slow
@QuarkusTest
class ViewerTest extends BrowserTest {

    private static final String LOGIN = """
            {"action": "user_login", "actor": {"type": "user", "id": "u-19283", "name": "jane.doe@example.org"},
             "outcome": "success", "ip_address": "185.98.122.110", "message": "Signed in with a security key"}""";
    private static final String REFUSAL = """
            {"action": "role_grant", "actor": {"type": "user", "id": "u-20117", "name": "omar.haddad@example.org"},
             "subject": {"type": "role", "id": "r-7", "name": "billing-admin"}, "outcome": "denied",
             "message": "Refused: the role viewer does not allow this"}""";

    @Test
    void aTokenOpensTheFeedNewestFirstAndNeverStandsInTheAddress() throws Exception {
        AuditLogFixture.Project project = log.newProject();
        append(project, LOGIN, REFUSAL);
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(rows(page)).hasCount(2);
            assertThat(rows(page).first()).containsText("role_grant");
            assertThat(rows(page).first()).containsText("omar.haddad@example.org");
            assertThat(page.locator("#progress")).hasText("The beginning of the feed.");
            assertThat(page.url()).doesNotContain(project.token());
            assertThat(page.evaluate("JSON.stringify(localStorage)").toString()).doesNotContain(project.token());

            page.reload();
            assertThat(rows(page)).hasCount(2);

            page.locator("#sign-out").click();
            assertThat(page.locator("#token")).isFocused();
            assertThat(rows(page)).hasCount(0);
            page.reload();
            assertThat(page.locator("#sign-in")).isVisible();
        }
        log.checkFeed(project.id());
    }

    @Test
    void aLinkOpensItsRecordsAndItsTokenLeavesTheAddressAtOnce() {
        AuditLogFixture.Project project = log.newProject();
        append(project, LOGIN, REFUSAL);
        String url = io.restassured.RestAssured.given()
                .auth()
                .preemptive()
                .oauth2(log.newToken(project.id(), "link"))
                .contentType("application/json")
                .body("{\"subject_id\": \"r-7\"}")
                .post("/v1/viewer-links")
                .then()
                .statusCode(201)
                .extract()
                .path("url");
        String fragment = url.substring(url.indexOf('#'));
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.navigate(service + fragment);
            assertThat(rows(page)).hasCount(1);
            assertThat(rows(page).first()).containsText("role_grant");
            assertThat(page.locator("#histogram-text")).hasText("1 record");
            assertThat(page.locator("#histogram-error")).isHidden();
            assertThat(page.locator("#sign-out")).isHidden();
            assertThat(page.locator("#proof-state")).isHidden();
            assertThat(page.url()).doesNotContain("annals_");
            rows(page).first().locator("a").click();
            assertThat(page.locator("#detail-body")).containsText("billing-admin");
            page.reload();
            assertThat(rows(page)).hasCount(1);
            checkAccess(page);
        }
    }

    @Test
    void aTokenThatOpensNothingGetsAClearWord() {
        AuditLogFixture.Project writer = log.newProject("write");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            Locator error = page.locator("#sign-in-error");
            page.navigate(service.toString());
            for (String[] attempt : new String[][] {
                {"annals_nobody_has_this", "The token is unknown, or has ended. Ask the administrator for a new one."},
                {writer.token(), "This operation needs a token with the scope \"read\"."},
                {"annals_ünknown", "This is not a token: it has characters that no token has."}
            }) {
                page.fill("#token", attempt[0]);
                page.keyboard().press("Enter");
                assertThat(error).hasText(attempt[1]);
                assertThat(page.locator("#viewer")).isHidden();
            }
        }
    }

    @Test
    void aTokenThatIsNoLongerKnownLeadsBackToSigningIn() {
        AuditLogFixture.Project project = log.newProject();
        append(project, LOGIN);
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(rows(page)).hasCount(1);
            page.evaluate("sessionStorage.setItem('annals.token', 'annals_taken_back')");
            page.reload();
            assertThat(page.locator("#sign-in-error")).containsText("The token is unknown");
            assertThat(rows(page)).hasCount(0);
        }
    }

    @Test
    void recordsAppendedElsewhereArriveAtTheTopAndWaitWhilePaused() throws Exception {
        AuditLogFixture.Project project = log.newProject();
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(page.locator("#live")).hasText("Live");
            assertThat(page.locator("#progress")).containsText("No records yet");
            append(project, LOGIN);
            assertThat(rows(page)).hasCount(1);
            append(project, REFUSAL);
            assertThat(rows(page)).hasCount(2);
            assertThat(rows(page).first()).containsText("role_grant");
            assertThat(page.locator("#announce")).containsText("new");

            page.locator("#live").click();
            assertThat(page.locator("#live")).hasText("Paused");
            append(project, LOGIN, LOGIN, LOGIN);
            assertThat(page.locator("#newest")).hasText("3 new records");
            assertThat(rows(page)).hasCount(2);

            page.locator("#live").click();
            assertThat(rows(page)).hasCount(5);
            assertThat(page.locator("#newest")).isHidden();
        }
        log.checkFeed(project.id());
    }

    @Test
    void theStreamGoesOnWhereItWasCut() throws Exception {
        AuditLogFixture.Project project = log.newProject();
        append(project, numbered(0, 3));
        try (BreakablePath path = new BreakablePath(service.getPort());
                Guarded guarded = chromium.open(
                        new Browser.NewContextOptions(), URI.create("http://127.0.0.1:" + path.port() + "/"))) {
            Page page = guarded.page;
            page.navigate(URI.create("http://127.0.0.1:" + path.port() + "/").toString());
            page.fill("#token", project.token());
            page.keyboard().press("Enter");
            assertThat(page.locator("#live")).hasText("Live");
            append(project, numbered(3, 6));
            assertThat(rows(page)).hasCount(6);

            for (int i = 6; i < 15; i += 3) {
                int from = i;
                Request resumed =
                        page.waitForRequest(request -> request.headers().containsKey("last-event-id"), () -> {
                            path.cut();
                            append(project, numbered(from, from + 3));
                        });
                assertThat(resumed.headers().get("last-event-id")).startsWith(from + "-");
                assertThat(rows(page)).hasCount(from + 3);
            }
            assertThat(page.locator("#rows td.number").allTextContents())
                    .isEqualTo(IntStream.rangeClosed(1, 15)
                            .mapToObj(i -> Integer.toString(16 - i))
                            .collect(Collectors.toList()));
        }
        log.checkFeed(project.id());
    }

    @Test
    void filtersStandInTheAddressAndHoldForWhatArrivesToo() throws Exception {
        AuditLogFixture.Project project = log.newProject();
        append(project, LOGIN, REFUSAL, LOGIN);
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(rows(page)).hasCount(3);
            page.locator("#more-filters").click();
            page.getByLabel("Action").fill("user_login");
            page.getByLabel("Actor").fill("u-19283");
            page.keyboard().press("Enter");
            assertThat(rows(page)).hasCount(2);
            assertThat(page).hasURL(Pattern.compile("#action=user_login&actor=u-19283$"));
            assertThat(page.locator("#live")).hasText("Live");
            append(project, REFUSAL, LOGIN);
            assertThat(rows(page)).hasCount(3);

            page.reload();
            assertThat(rows(page)).hasCount(3);
            assertThat(page.locator("#chips")).containsText("Actor");
            page.getByLabel("Remove the filter Action").click();
            assertThat(page).hasURL(Pattern.compile("#actor=u-19283$"));
            page.goBack();
            assertThat(page).hasURL(Pattern.compile("#action=user_login&actor=u-19283$"));

            page.navigate(service + "#q=security+KEY&ip_address=185.98.122.110");
            assertThat(rows(page)).hasCount(3);
            page.locator("input[name=q]").fill("refused viewer");
            page.keyboard().press("Enter");
            assertThat(page.locator("#progress"))
                    .hasText(Pattern.compile(
                            "^No records match these filters. Every field of all records up to #\\d+ was searched.$"));
            page.getByLabel("Remove the filter IP address").click();
            assertThat(rows(page)).hasCount(2);

            page.navigate(service + "#outcome=denied&start=2020-01-01T00:00:00Z");
            assertThat(rows(page)).hasCount(2);
            page.navigate(service + "#action=nothing_does_this");
            assertThat(page.locator("#progress"))
                    .hasText(Pattern.compile(
                            "^No records match these filters. Every field of all records up to #\\d+ was searched.$"));
            page.navigate(service + "#outcome=denied");
            assertThat(rows(page)).hasCount(2);
            // A browser leaves the seconds of a whole minute out.
            page.locator("#range").click();
            page.getByLabel("From UTC").fill("2020-01-01T00:00");
            page.keyboard().press("Enter");
            assertThat(rows(page)).hasCount(2);
            page.navigate(service + "#outcome=denied&start=2020-01-01T01:00%2B01:00&end=9999-12-31");
            assertThat(rows(page)).hasCount(2);
            assertThat(page.getByLabel("From UTC")).hasValue("2020-01-01T00:00");
            page.locator("input[name=q]").fill("outcome:DENIED -action:absent");
            page.keyboard().press("Enter");
            assertThat(rows(page)).hasCount(2);
            page.locator("input[name=q]").fill("\ud83d\ude00 acton:foo");
            page.keyboard().press("Enter");
            assertThat(page.locator("#problem-text")).containsText("At character 3: there is no field \"acton\"");
            assertThat(page.locator("input[name=q]")).hasAttribute("aria-invalid", "true");
            assertThat(page.locator("input[name=q]")).isFocused();
            assertThat((String) page.locator("input[name=q]")
                            .evaluate("q => q.value.slice(q.selectionStart, q.selectionEnd)"))
                    .isEqualTo("a");
            page.navigate(service + "#q=refused");
            assertThat(page.locator("#problem")).isHidden();
            assertThat(page.locator("input[name=q]")).not().hasAttribute("aria-invalid", "true");
            page.navigate(service + "#start=2020-01-02&end=2020-01-01");
            assertThat(page.locator("#problem-text")).containsText("before start");
            page.navigate(service + "#start=yesterday");
            assertThat(page.locator("#problem-text")).containsText("The parameter \"start\" cannot be used");
        }
        log.checkFeed(project.id());
    }

    @Test
    void aSearchReadsOnOverEmptyPagesUntilItFinds() throws Exception {
        AuditLogFixture.Project project = log.newProject();
        append(project, REFUSAL);
        for (int i = 0; i < 6; i++) {
            append(
                    project,
                    IntStream.range(0, 1000)
                            .mapToObj(n -> "{\"action\": \"tick\"}")
                            .toArray(String[]::new));
        }
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.navigate(service + "#action=role_grant");
            page.fill("#token", project.token());
            page.keyboard().press("Enter");
            assertThat(rows(page)).hasCount(1);
            assertThat(page.locator("#progress")).hasText("No further records match these filters.");
        }
        log.checkFeed(project.id());
    }

    @Test
    void aSearchCanBeStoppedAndGoneOnWith() {
        AuditLogFixture.Project project = log.newProject();
        append(project, LOGIN);
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            searchForEver(page, project, () -> {});
            assertThat(page.locator("#progress")).containsText("pages read, 0 found");
            page.locator("#stop").click();
            assertThat(page.locator("#older")).isVisible();
            assertThat(page.locator("#progress"))
                    .hasText("Searched so far: #5,001 to #9,000. Older records may match.");
            page.locator("#older").click();
            assertThat(page.locator("#progress")).hasText(Pattern.compile("pages read, 0 found, back to #5,001$"));
            page.locator("#stop").click();
            assertThat(page.locator("#older")).isVisible();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1440, 360})
    void nothingMovesWhileASearchGoesOn(int width) {
        AuditLogFixture.Project project = log.newProject();
        append(project, LOGIN);
        Browser.NewContextOptions options = new Browser.NewContextOptions().setViewportSize(width, 800);
        try (Guarded guarded = chromium.open(options, service)) {
            Page page = guarded.page;
            searchForEver(page, project, () -> {});
            assertThat(page.locator("#progress")).containsText("pages read, 0 found");
            assertThat(page.locator("#histogram")).isVisible();
            Object places = page.evaluate("""
                    async () => {
                      const places = new Set();
                      for (let frame = 0; frame < 30; frame++) {
                        document.getElementById('progress').textContent =
                          `Searching older records: ${frame % 2 ? '9' : '1,234,567'} pages read, 0 found`;
                        const {x, y, width, height} = document.getElementById('stop').getBoundingClientRect();
                        places.add([x, y, width, height, document.documentElement.scrollHeight].join(' '));
                        await new Promise(requestAnimationFrame);
                      }
                      return [...places];
                    }""");
            assertThat((List<?>) places).hasSize(1);
        }
    }

    @Test
    void thePagesOfAFastSearchAreNotAllShown() {
        AuditLogFixture.Project project = log.newProject();
        append(project, LOGIN);
        AtomicInteger pages = new AtomicInteger();
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.addInitScript("let clock = 0; performance.now = () => clock; window.tick = (ms) => { clock += ms; };");
            searchForEver(page, project, pages::incrementAndGet);
            page.waitForCondition(() -> pages.get() > 10);
            assertThat(page.locator("#progress")).hasText("Loading …");
            page.evaluate("tick(1000)");
            assertThat(page.locator("#progress")).containsText("pages read, 0 found");
            page.locator("#stop").click();
            assertThat(page.locator("#progress")).containsText("Older records may match.");
        }
    }

    /** Begins a search without end: every page is empty and has a next. */
    private void searchForEver(Page page, AuditLogFixture.Project project, Runnable eachPage) {
        page.route(Pattern.compile("order=desc.*action="), route -> {
            eachPage.run();
            route.fulfill(new Route.FulfillOptions()
                    .setContentType("application/json")
                    .setBody("{\"next\": \"http://elsewhere/v1/project-logs?cursor=1-0&order=desc&action=x\","
                            + " \"poll_more\": \"http://elsewhere/v1/project-logs?action=x\", \"results\": [],"
                            + " \"search\": {\"from\": 5000, \"through\": 9000, \"indexed_through\": 8192}}"));
        });
        page.navigate(service + "#action=x");
        page.fill("#token", project.token());
        page.keyboard().press("Enter");
    }

    @Test
    void theChartFollowsTheTimeThatIsLookedAt() throws Exception {
        AuditLogFixture.Project project = log.newProject();
        append(project, """
                        {"action": "z", "timestamp": "2020-03-11T12:00:00Z"}""", """
                        {"action": "a", "outcome": "success", "timestamp": "2026-03-11T23:59:59.999999Z"}""", """
                        {"action": "b", "outcome": "denied", "timestamp": "2026-03-12T00:00:00Z"}""", """
                        {"action": "c", "timestamp": "2026-03-12T23:00:00Z"}""", """
                        {"action": "d", "outcome": "success", "timestamp": "2026-03-13T00:00:00Z"}""");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            Locator text = page.locator("#histogram-text");
            Locator title = page.locator("#histogram-title");
            signIn(page, project);
            assertThat(text).hasText("5 records");
            assertThat(title).hasText("Records by month UTC");
            assertThat(page.locator(".interval")).hasCount(73);
            assertThat(page.locator("#histogram-axis span").first()).hasText("Mar 2020");
            assertThat(page.locator("#histogram-scale")).hasText("4 per month");
            assertThat(page.locator("#later")).isHidden();
            page.getByLabel("March 2026: 4 records, 1 failed").click();
            assertThat(page).hasURL(Pattern.compile("#start=2026-03-01T00%3A00%3A00Z&end=2026-04-01T00%3A00%3A00Z$"));
            assertThat(title).hasText("Records by day UTC");
            assertThat(page.locator(".interval")).hasCount(31);
            Locator day = page.getByLabel("Thu, 12 Mar 2026: 2 records, 1 failed");
            assertThat(day.locator("rect.failure")).hasCount(1);
            assertThat(day.locator("rect.other")).hasCount(1);
            page.locator("#later").click();
            assertThat(page).hasURL(Pattern.compile("#start=2026-04-01T00%3A00%3A00Z&end=2026-05-01T00%3A00%3A00Z$"));
            assertThat(text).hasText("0 records match");
            page.locator("#earlier").click();
            day.click();
            assertThat(title).hasText("Records by hour UTC");
            // The pointer is over a bar.
            assertThat(text).hasText(Pattern.compile("^2 records match · Thu, 12 Mar 2026, \\d\\d:00: 0 records$"));
            assertThat(page.locator(".interval")).hasCount(24);
            assertThat(page.locator("#rows .action")).hasText(new String[] {"c", "b"});
            Locator hour = page.locator(".interval").first();
            hour.focus();
            press(page, "ArrowRight", "ArrowLeft", "Enter");
            assertThat(page.locator("#rows .action")).hasText(new String[] {"b"});
            assertThat(title).hasText("Records by minute UTC");
            assertThat(page.locator(".interval")).hasCount(60);
            page.locator(".interval").first().click();
            assertThat(page.locator(".interval")).hasCount(1);
            assertThat(page.locator(".interval").first()).hasAttribute("aria-pressed", "true");
            page.locator(".interval").first().click();
            assertThat(text).hasText("5 records");
        }
        log.checkFeed(project.id());
    }

    @Test
    void theChartFollowsAllFilters() throws Exception {
        AuditLogFixture.Project project = log.newProject();
        append(project, """
                        {"action": "a", "outcome": "success", "timestamp": "2026-03-11T12:00:00Z"}""", """
                        {"action": "a", "outcome": "denied", "timestamp": "2026-03-12T12:00:00Z"}""", """
                        {"action": "b", "outcome": "denied", "actor": {"id": "u-1"}, "timestamp": "2026-03-12T13:00:00Z"}""");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            Locator text = page.locator("#histogram-text");
            signIn(page, project);
            assertThat(text).hasText("3 records");
            page.navigate(service + "#action=a");
            assertThat(text).hasText("2 records match");
            page.navigate(service + "#action=a&outcome=denied");
            assertThat(text).hasText("1 record matches");
            assertThat(page.getByLabel("Thu, 12 Mar 2026, 12:00: 1 record, 1 failed"))
                    .isVisible();
            page.navigate(service + "#outcome=denied&actor=u-1&q=x");
            assertThat(text).hasText("0 records match");
            page.navigate(service + "#outcome=denied&actor=u-1");
            assertThat(text).hasText("1 record matches");
            page.navigate(service + "#q=occurred_at:2026-03-12");
            assertThat(text).hasText("2 records match");
        }
        log.checkFeed(project.id());
    }

    @Test
    void theLastDayEndsNowAndRecordsOfTheFutureAreMarked() throws Exception {
        AuditLogFixture.Project project = log.newProject();
        append(project, """
                {"action": "now"}""", """
                {"action": "soon", "timestamp": "%s"}""".formatted(Instant.now().plusSeconds(7_200)));
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(rows(page)).hasCount(2);
            assertThat(page.locator(".ahead")).hasCount(1);
            assertThat(rows(page).first().locator("a"))
                    .hasAttribute("aria-label", Pattern.compile("soon, in the future$"));
            page.navigate(service + "#last=24h");
            assertThat(rows(page)).hasCount(1);
            assertThat(page.locator("#histogram-text")).hasText("1 record matches");
            assertThat(page.locator(".interval").last()).hasAttribute("aria-label", Pattern.compile(": 1 record$"));
        }
        log.checkFeed(project.id());
    }

    /** The feed is made to look long. */
    @Test
    void theDaysOfALongFeedAreCountedByTheStatistics() throws Exception {
        AuditLogFixture.Project project = log.newProject();
        append(project, """
                        {"action": "a", "outcome": "success", "timestamp": "2026-03-01T12:00:00Z"}""", """
                        {"action": "b", "outcome": "denied", "timestamp": "2026-03-12T13:00:00Z"}""");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.route(Pattern.compile("project-logs\\?|statistics\\?"), route -> {
                var answer = route.fetch();
                route.fulfill(new Route.FulfillOptions()
                        .setResponse(answer)
                        .setBody(answer.text().replaceAll("\"(sequence_id|through)\":([0-9])", "\"$1\":9000$2")));
            });
            page.route("**/facets?*", Route::abort);
            signIn(page, project);
            page.reload();
            assertThat(page.locator("#histogram-title")).hasText("Records by day UTC");
            assertThat(page.locator("#histogram-text")).hasText("2 records");
            assertThat(page.getByLabel("Thu, 12 Mar 2026: 1 record, 1 failed")).isVisible();
            page.navigate(service + "#outcome=success&start=2026-03-01&end=2026-04-01");
            assertThat(page.locator("#histogram-text")).hasText("1 record matches");
            page.navigate(service + "#action=a&start=2020-01-01");
            assertThat(page.locator("#histogram-title")).hasText("Records by month UTC");
            assertThat(page.locator("#histogram-text")).hasText("1 record matches");
        }
        log.checkFeed(project.id());
    }

    @Test
    void theFirstYearIsDrawn() throws Exception {
        AuditLogFixture.Project project = log.newProject();
        append(project, """
                        {"action": "a", "timestamp": "0001-01-02T00:00:00Z"}""");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(page.locator("#histogram-text")).hasText("1 record");
            assertThat(page.locator(".interval")).hasCount(30);
            page.navigate(service + "#start=0001-01-01&end=0002-01-01");
            assertThat(page.locator("#histogram-title")).hasText("Records by week UTC");
            assertThat(page.locator(".interval")).hasCount(53);
            page.locator("#earlier").click();
            assertThat(page.locator("#histogram-text")).hasText("1 record matches");
            assertThat(page.locator("#histogram-error")).isHidden();
        }
        log.checkFeed(project.id());
    }

    @Test
    void thePageWorksWithoutTheCounts() {
        AuditLogFixture.Project project = log.newProject();
        append(project, LOGIN);
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.route(
                    "**/facets?*",
                    route -> route.fulfill(new Route.FulfillOptions()
                            .setStatus(503)
                            .setContentType("application/problem+json")
                            .setBody("{\"detail\": \"Try again.\"}")));
            signIn(page, project);
            assertThat(page.locator("#histogram-error")).hasText("The records cannot be counted: Try again.");
            assertThat(page.locator("#histogram")).isHidden();
            assertThat(rows(page)).hasCount(1);
            assertThat(page.locator("#live")).hasText("Live");
        }
    }

    @Test
    void theTextOfARecordIsShownAndNeverRun() throws Exception {
        AuditLogFixture.Project project = log.newProject();
        String attack = "<img src=x onerror=alert(1)><script>alert(2)</script>";
        append(project, """
                {"action": "%1$s", "actor": {"type": "%1$s", "id": "%1$s", "name": "\\u202egro.elpmaxe@nimda"},
                 "subject": {"type": "a\\u0007b", "name": "%1$s"}, "outcome": "%1$.40s", "message": "%1$s \\n%2$s",
                 "metadata": {"%1$s": "\\u202e%1$s", "exact": 12345678901234567890, "one": 1.0}}""".formatted(attack, "wide ".repeat(1000)));
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(rows(page).first().locator(".message")).containsText(attack);
            assertThat(rows(page).first().locator(".action")).hasText(attack);
            assertThat(rows(page).first().locator(".actor")).hasText("\\u202egro.elpmaxe@nimda");
            assertThat(rows(page).first().locator(".subject")).containsText("a\\u0007b");
            rows(page).first().click();
            Locator detail = page.locator("#detail");
            assertThat(detail.locator("#detail-title")).hasText(attack);
            detail.locator("pre").getByText("show all").click();
            assertThat(detail.locator("pre")).containsText("\"" + attack + "\": \"\\u202e" + attack);
            assertThat(detail.locator("pre")).containsText("\"exact\": 12345678901234567890");
            assertThat(detail.locator("pre")).containsText("\"one\": 1.0");
            assertThat(detail.locator("p.value")).containsText("show all");
            assertThat(page.locator("img")).hasCount(1);
            assertThat(page.locator("script")).hasCount(1);

            detail.getByLabel("Only this Subject", new Locator.GetByLabelOptions().setExact(true))
                    .click();
            assertThat(page.locator("#chips")).containsText(attack);
            assertThat(rows(page)).hasCount(1);
            detail.getByLabel("Only this Recorded by").click();
            assertThat(page.locator("#chips")).containsText("token:");
            assertThat(rows(page)).hasCount(1);
            page.navigate(service + "#record=" + attack);
            assertThat(detail.getByRole(AriaRole.ALERT)).isVisible();
        }
        log.checkFeed(project.id());
    }

    @Test
    void everythingIsReachedByKeys() {
        AuditLogFixture.Project project = log.newProject();
        append(project, numbered(0, 5));
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(rows(page)).hasCount(5);
            press(page, "j", "j", "j", "k");
            assertThat(rows(page).nth(1).locator("a")).isFocused();
            press(page, "ArrowDown", "Enter");
            Locator title = page.locator("#detail-title");
            assertThat(title).hasText("step_2");
            assertThat(title).isFocused();
            assertThat(page).hasURL(Pattern.compile("#record=[0-9a-f-]{36}$"));
            press(page, "j");
            assertThat(title).hasText("step_1");
            press(page, "Escape");
            assertThat(page.locator("#detail")).isHidden();
            assertThat(rows(page).nth(3).locator("a")).isFocused();
            press(page, "/");
            assertThat(page.locator("input[name=q]")).isFocused();
            press(page, "p", "Escape", "p");
            assertThat(page.locator("#live")).hasText("Paused");
            assertThat(page.locator("input[name=q]")).hasValue("p");
            press(page, "?");
            assertThat(page.locator("#help")).isVisible();
            page.locator("#single-keys").uncheck();
            press(page, "Escape", "p");
            assertThat(page.locator("#help")).isHidden();
            assertThat(page.locator("#live")).hasText("Paused");
        }
    }

    @Test
    void aLinkToARecordOpensItAfterSigningIn() {
        AuditLogFixture.Project project = log.newProject();
        append(project, LOGIN, REFUSAL);
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.context().grantPermissions(List.of("clipboard-read", "clipboard-write"));
            signIn(page, project);
            rows(page).nth(1).click();
            page.getByText("Copy link").click();
            assertThat(page.getByText("Copied").first()).isVisible();
            String link = page.evaluate("navigator.clipboard.readText()").toString();
            assertThat(link).startsWith(service.toString()).contains("#record=");
            try (Guarded other = open()) {
                other.page.navigate(link);
                other.page.fill("#token", project.token());
                other.page.keyboard().press("Enter");
                assertThat(other.page.locator("#detail-title")).hasText("user_login");
                assertThat(other.page.locator("#detail-body")).containsText("185.98.122.110");
            }
        }
    }

    @Test
    void aLongNameLeavesRoomForTheButtonBesideIt() {
        AuditLogFixture.Project project = log.newProject();
        append(project, "{\"action\": \"a\", \"actor\": {\"type\": \"user\", \"id\": \"" + "x".repeat(500) + "\"}}");
        for (int width : new int[] {1440, 360}) {
            try (Guarded guarded =
                    chromium.open(new Browser.NewContextOptions().setViewportSize(width, 800), service)) {
                Page page = guarded.page;
                page.navigate(service.toString());
                assertThat(page.locator("#token")).isFocused();
                signIn(page, project);
                rows(page).first().locator("a").click();
                assertThat(page.locator("#detail .only").first()).isVisible();
                for (Locator button : page.locator("#detail .only").all()) {
                    BoundingBox place = button.boundingBox();
                    BoundingBox panel = page.locator("#detail").boundingBox();
                    assertThat(place.x + place.width).isLessThanOrEqualTo(panel.x + panel.width);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = ColorScheme.class,
            names = {"LIGHT", "DARK"})
    void thePageIsAccessibleInLightAndDarkOnADeskAndAPhone(ColorScheme scheme) {
        AuditLogFixture.Project project = log.newProject();
        append(project, LOGIN, REFUSAL, numbered(0, 1)[0]);
        for (int width : new int[] {1440, 360}) {
            Browser.NewContextOptions options =
                    new Browser.NewContextOptions().setColorScheme(scheme).setViewportSize(width, 800);
            try (Guarded guarded = chromium.open(options, service)) {
                Page page = guarded.page;
                page.navigate(service.toString());
                checkAccess(page);
                signIn(page, project);
                assertThat(page.locator("#live")).hasText("Live");
                assertThat(rows(page)).hasCount(3);
                page.locator("#more-filters").click();
                checkAccess(page);
                page.fill("input[name=action]", "role_grant");
                page.keyboard().press("Enter");
                assertThat(rows(page)).hasCount(1);
                rows(page).first().click();
                assertThat(page.locator("#detail pre")).isVisible();
                checkAccess(page);
                page.keyboard().press("Escape");
                page.keyboard().press("?");
                checkAccess(page);
            }
        }
    }

    @Test
    void theColoursFollowTheSystemUntilTheReaderChooses() {
        try (Guarded guarded =
                chromium.open(new Browser.NewContextOptions().setColorScheme(ColorScheme.DARK), service)) {
            Page page = guarded.page;
            page.navigate(service.toString());
            String background = "getComputedStyle(document.body).backgroundColor";
            assertThat(page.evaluate(background)).isEqualTo("rgb(14, 16, 20)");
            page.getByLabel("Light colours").click();
            assertThat(page.evaluate(background)).isEqualTo("rgb(246, 247, 249)");
            page.reload();
            assertThat(page.getByLabel("Dark colours")).isVisible();
            assertThat(page.evaluate(background)).isEqualTo("rgb(246, 247, 249)");
        }
    }

    /** No fault against WCAG 2.2 AA, contrast among it, and nothing that is wider than the window. */
    private static Locator rows(Page page) {
        return page.locator("#rows tr");
    }

    private static void press(Page page, String... keys) {
        for (String key : keys) {
            page.keyboard().press(key);
        }
    }

    private static String[] numbered(int from, int to) {
        return IntStream.range(from, to)
                .mapToObj(i -> "{\"action\": \"step_" + i + "\"}")
                .toArray(String[]::new);
    }
}
