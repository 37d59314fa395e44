package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Slow;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Each question of an investigation is one gesture in the viewer: the actor, the action, the address, and what else the actor did. */
@Slow
@QuarkusTest
class InvestigationTest extends BrowserTest {

    /** A name that has to be quoted in queries, and text in a language that is written from right to left. */
    private static final String ODD = """
            {"action": "grant", "actor": {"type": "user", "id": "u-1", "name": "Jane \\"OR\\" (Doe), \\\\"},
             "subject": {"type": "role", "id": "r-7"}, "outcome": "denied", "ip_address": "2001:db8::7",
             "message": "\\u05e9\\u05dc\\u05d5\\u05dd", "timestamp": "2026-03-13T15:42:07.123456Z",
             "metadata": {"request_id": "7f3a", "http": {"status": 403, "a.b": true}, "tags": ["red", "blue"], "none": null}}""";

    private static final String PLAIN = """
            {"action": "login", "actor": {"type": "user", "id": "u-2"}, "outcome": "success", "ip_address": "192.0.2.9",
             "metadata": {"request_id": "8888", "tags": ["green"]}, "timestamp": "2026-03-13T15:43:00Z"}""";

    @Test
    void eachValueOfARecordIsFilteredByExcludedAndCopiedWithOneClick() throws Exception {
        Project project = log.newProject();
        append(project, ODD, PLAIN);
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.context().grantPermissions(List.of("clipboard-read", "clipboard-write"));
            signIn(page, project);
            for (String name : new String[] {
                "Action",
                "Outcome",
                "Actor",
                "Subject",
                "Subject type",
                "IP address",
                "Time: minute",
                "request_id",
                "http.status",
                "http.a.b",
                "tags.0",
                "tags.1"
            }) {
                page.navigate(service + "#");
                assertThat(rows(page)).hasCount(2);
                rows(page).nth(1).click();
                label(page, "Exclude this " + name).click();
                assertThat(rows(page)).hasCount(1);
                assertThat(rows(page)).containsText("login");

                page.navigate(service + "#");
                assertThat(rows(page)).hasCount(2);
                rows(page).nth(1).click();
                label(page, "Only this " + name).click();
                assertThat(rows(page)).hasCount(1);
                assertThat(rows(page)).containsText("grant");
            }
            // The query before, even an alternative, stays one condition beside the added term.
            page.navigate(service + "#q=action:grant+OR+action:login");
            assertThat(rows(page)).hasCount(2);
            rows(page).nth(1).click();
            label(page, "Exclude this Actor").click();
            assertThat(page.locator("input[name=q]")).hasValue("(action:grant OR action:login) -actor:\"u-1\"");
            assertThat(rows(page)).hasCount(1);
            label(page, "Exclude this Outcome").click();
            assertThat(page.locator("input[name=q]"))
                    .hasValue("(action:grant OR action:login) -actor:\"u-1\" -outcome:denied");

            page.navigate(service + "#");
            assertThat(rows(page)).hasCount(2);
            rows(page).nth(1).click();
            label(page, "Copy this Actor").click();
            assertThat(page.locator("#announce")).hasText("Copied");
            assertThat(page.evaluate("navigator.clipboard.readText()")).isEqualTo("Jane \"OR\" (Doe), \\");
            checkAccess(page);
        }
        log.checkFeed(project.id());
    }

    @Test
    void recordsAroundARecordAreShownWithItInSight() throws Exception {
        Project project = log.newProject();
        append(project, numbered(0, 1000));
        append(project, numbered(1000, 1200));
        for (int width : new int[] {1440, 360}) {
            try (Guarded guarded =
                    chromium.open(new Browser.NewContextOptions().setViewportSize(width, 800), service)) {
                Page page = guarded.page;
                page.navigate(service.toString() + "#q=metadata.n:500");
                page.fill("#token", project.token());
                page.keyboard().press("Enter");
                rows(page).first().click();
                page.getByText("same actor").click();
                Locator target = page.locator("#rows tr.target");
                assertThat(target).containsText("step_500");
                assertInSight(page, target);
                assertThat(page.locator("#chips")).containsText("Actor");
                assertThat(rows(page)).not().containsText(new String[] {"step_501"});
                assertThat(page.locator("#live-text")).hasText("Not live");
                assertThat(page.locator("#newest")).hasText("To the newest records");
                checkAccess(page);

                page.navigate(service.toString() + "#q=metadata.n:500");
                assertThat(rows(page)).hasCount(1);
                rows(page).first().click();
                page.getByText("everything").click();
                assertThat(page).hasURL(Pattern.compile("at=501"));
                assertInSight(page, target);
                assertThat(page.locator("#rows tr:has(+ .target)")).containsText("step_501");
                assertThat(page.locator("#rows .target + tr")).containsText("step_499");
                assertThat(page.locator("#chips")).isHidden();

                // Upwards, all newer ones are read, and then the feed is followed.
                page.waitForCondition(() -> {
                    page.evaluate("scrollTo(0, 0)");
                    return page.locator("#live-text").textContent().equals("Live");
                });
                page.evaluate("scrollTo(0, 0)");
                assertThat(rows(page).first()).containsText("step_1199");
            }
        }
        log.checkFeed(project.id());
    }

    private static void assertInSight(Page page, Locator row) {
        assertThat(row).hasCount(1);
        page.waitForCondition(
                () -> (Boolean)
                        row.evaluate(
                                "row => { const {top, bottom} = row.getBoundingClientRect(); return top > 50 && bottom < innerHeight; }"));
    }

    @Test
    void timesAreThoseOfTheChosenZoneEverywhereAndARangeIsOneClick() {
        Project project = log.newProject();
        append(project, ODD, "{\"action\": \"now\"}");
        for (int width : new int[] {1440, 360}) {
            Browser.NewContextOptions options = new Browser.NewContextOptions()
                    .setViewportSize(width, 800)
                    .setLocale("en-US")
                    .setTimezoneId("America/St_Johns");
            try (Guarded guarded = chromium.open(options, service)) {
                Page page = guarded.page;
                signIn(page, project);
                Locator time = rows(page).nth(1).locator("td.time");
                assertThat(time).containsText("2026-03-13 15:42:07 UTC");
                page.locator("#zone").click();
                assertThat(time).containsText("2026-03-13 13:12:07 −02:30");
                assertThat(time.locator("time"))
                        .hasAttribute("title", Pattern.compile("ago · 2026-03-13 13:12:07.123456 −02:30$"));
                assertThat(page.locator("#zone")).containsText("America/St_Johns");
                page.reload();
                assertThat(time).containsText("13:12:07");

                page.locator("#range").click();
                page.getByText("Last 24 hours").click();
                assertThat(page).hasURL(Pattern.compile("#last=24h$"));
                assertThat(rows(page)).hasCount(1);
                assertThat(page.locator("#range")).containsText("Last 24 hours");
                page.locator("#range").click();
                assertThat(page.locator("#range-panel")).containsText("America/St_Johns");
                page.getByLabel("From").fill("2026-03-13T13:12");
                page.getByLabel("Until").fill("2026-03-13T13:13");
                assertNotClipped(page);
                checkAccess(page);
                page.keyboard().press("Enter");
                assertThat(rows(page)).hasCount(1);
                assertThat(rows(page)).containsText("grant");
                assertThat(page)
                        .hasURL(Pattern.compile("#start=2026-03-13T15%3A42%3A00Z&end=2026-03-13T15%3A43%3A00Z$"));
                assertThat(page.locator("#chips")).containsText("2026-03-13 13:12:00 −02:30");

                rows(page).first().click();
                assertThat(page.locator("#detail time").first()).hasText("2026-03-13 13:12:07.123456 −02:30");
                assertThat(page.locator("#detail .relative").first()).hasText(Pattern.compile("ago$"));
            }
        }
    }

    /** The fields have room for what a clock of twelve hours says, with the browser's button beside it. */
    private static void assertNotClipped(Page page) {
        for (Locator field : page.locator("#range-panel input").all()) {
            assertThat(field.boundingBox().width).isGreaterThan(240);
            assertThat((Boolean) field.evaluate("field => field.scrollWidth <= field.clientWidth"))
                    .isTrue();
        }
    }

    @Test
    void chosenColumnsAreShownAndSearchedWordsAreMarked() {
        Project project = log.newProject();
        append(project, ODD, PLAIN, """
                {"action": "note", "message": "<mark>Disk full</mark> on disk-7, not a diskette"}""");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            page.locator("#columns").click();
            page.locator("#columns-list").getByText("IP address").click();
            page.locator("#columns-list").getByText("Message").click();
            page.locator("#column-path").fill("http.status");
            page.keyboard().press("Enter");
            page.locator("#column-path").fill("not a path");
            page.keyboard().press("Enter");
            assertThat(page.locator("#column-error")).containsText("no path");
            page.locator("#column-path").fill("http.\"a.b\"");
            page.keyboard().press("Enter");
            checkAccess(page);
            page.locator("#close-columns").click();
            String[] heads = {
                "Time UTC", "Action", "Actor", "Subject", "Outcome", "IP address", "http.status", "http.\"a.b\"", "#"
            };
            assertThat(page.locator("#heads th")).hasText(heads);
            assertThat(rows(page).nth(2).locator("td.metadata")).hasText(new String[] {"403", "true"});
            assertThat(rows(page).nth(2).locator("td.ip_address")).hasText("2001:db8::7");
            page.reload();
            assertThat(page.locator("#heads th")).hasText(heads);
            checkAccess(page);
            page.setViewportSize(360, 800);
            assertThat(rows(page).nth(2).locator("td.metadata").first()).isVisible();
            checkAccess(page);
            page.setViewportSize(1440, 900);
            page.locator("#columns").click();
            page.locator("#usual-columns").click();
            page.locator("#close-columns").click();
            assertThat(page.locator("#heads th.message")).isVisible();

            page.locator("input[name=q]").fill("\"disk full\" dis* -absent");
            page.keyboard().press("Enter");
            assertThat(rows(page)).hasCount(1);
            assertThat(rows(page).locator("mark")).hasText(new String[] {"Disk full", "disk", "diskette"});
            assertThat(rows(page).locator(".message")).containsText("<mark>Disk full</mark>");
        }
    }

    static Locator rows(Page page) {
        return page.locator("#rows tr");
    }

    private static Locator label(Page page, String label) {
        return page.locator("#detail").getByLabel(label, new Locator.GetByLabelOptions().setExact(true));
    }

    /** Every second one is Jane's. */
    private static String[] numbered(int from, int to) {
        return IntStream.range(from, to)
                .mapToObj(i -> "{\"action\": \"step_" + i + "\", \"actor\": {\"id\": \"u-" + i % 2
                        + "\"}, \"metadata\": {\"n\": " + i + "}}")
                .toArray(String[]::new);
    }
}
