package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Download;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Route;
import com.microsoft.playwright.options.ColorScheme;
import com.microsoft.playwright.options.Media;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Load;
import dev.annals.Slow;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;

/** Commands, files, views and prints contain exactly what the page shows. */
@Slow
@QuarkusTest
class ViewerShareTest extends BrowserTest {

    /** A text that a shell would run if it were not quoted. */
    private static final String HOSTILE =
            "it's $(touch x) `id` \\ \"$ANNALS_TOKEN\" ; * 'é\n-n\u001b[31m\b\u009b0m\u202e\\x41";

    private static final ObjectMapper JSON = new ObjectMapper();

    @Test
    void commandsPrintWhatIsShownAndHaveNoToken() throws Exception {
        Project project = log.newProject();
        String hostile = JSON.writeValueAsString(HOSTILE);
        append(
                project,
                "{\"action\": %s, \"actor\": {\"id\": %s}, \"message\": \"a b\", \"outcome\": \"denied\"}"
                        .formatted(hostile, hostile),
                "{\"action\": %s, \"message\": \"a\", \"timestamp\": \"2026-01-01T00:00:00Z\"}".formatted(hostile),
                "{\"action\": \"other\", \"message\": \"a b\"}");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.context().grantPermissions(List.of("clipboard-read", "clipboard-write"));
            String action = URLEncoder.encode(HOSTILE, StandardCharsets.UTF_8);
            for (String filters : new String[] {
                "action=" + action + "&start=2026-01-01T00:00:00Z",
                "action=" + action + "&actor=" + action + "&q=a+OR+b&last=1h",
                "q=a+-action:other"
            }) {
                signIn(page, project, "#" + filters);
                assertThat(page.locator("#rows tr").first()).isVisible();
                page.locator("#share").click();
                String curl = copied(page, "#copy-curl");
                String annals = copied(page, "#copy-annals");
                assertThat(curl + annals).doesNotContain(project.token());
                // A terminal would act on it, although it is quoted.
                assertThat((curl + annals).chars())
                        .noneMatch(c -> c == '\u202e' || (c != '\n' && Character.isISOControl(c)));
                List<String> shown = page.locator("#rows tr td.number").allTextContents();
                assertThat(shown).isNotEmpty();
                assertThat(numbers(run(project, curl))).isEqualTo(shown);

                // The program's arguments, and what the service finds for its query.
                String[] arguments = run(project, "annals() { printf '%s\\0' \"$ANNALS_URL\" \"$@\"; }; " + annals)
                        .split("\0");
                assertThat(arguments)
                        .startsWith(
                                service.toString().replaceAll("/$", ""),
                                "search",
                                "-n",
                                Integer.toString(shown.size()),
                                "--");
                assertThat(arguments).hasSize(6);
                String query = URLEncoder.encode(arguments[5], StandardCharsets.UTF_8);
                assertThat(numbers(project.request()
                                .get("/v1/project-logs?order=desc&q=" + query)
                                .asString()))
                        .isEqualTo(shown);
                checkAccess(page);
                page.locator("#close-share").click();
                page.locator("#sign-out").click();
            }
        }
    }

    private static String copied(Page page, String place) {
        page.locator(place).getByText("Copy").click();
        assertThat(page.locator(place)).hasText("Copied");
        return page.evaluate("navigator.clipboard.readText()").toString();
    }

    /** Runs a command as people do who have pasted it into a shell. */
    private static String run(Project project, String command) throws Exception {
        ProcessBuilder shell = new ProcessBuilder("bash", "-c", command).redirectError(ProcessBuilder.Redirect.INHERIT);
        shell.environment().put("ANNALS_TOKEN", project.token());
        Process process = shell.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
        return output;
    }

    private static List<String> numbers(String page) throws Exception {
        JsonNode results = JSON.readTree(page).path("results");
        assertThat(results.isArray()).as(page).isTrue();
        return StreamSupport.stream(results.spliterator(), false)
                .map(record -> record.path("sequence_id").asText())
                .toList();
    }

    @Test
    void filesHaveAllThatPassesTheFiltersInEachFormat() throws Exception {
        Project project = log.newProject();
        append(
                project,
                IntStream.range(0, 300)
                        .mapToObj(i -> "{\"action\": \"step_" + i % 2 + "\"}")
                        .toArray(String[]::new));
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.addInitScript("delete window.showSaveFilePicker");
            signIn(page, project, "#action=step_1");
            page.locator("#share").click();
            assertThat(page.locator("#export-note")).containsText("256 MiB at most");
            for (String format : new String[] {"CSV", "NDJSON", "CloudEvents", "OCSF"}) {
                page.getByLabel(format, new Page.GetByLabelOptions().setExact(true))
                        .check();
                Download download =
                        page.waitForDownload(() -> page.locator("#export").click());
                assertThat(download.suggestedFilename())
                        .matches("annals-.*-1-300\\.(csv|(cloudevents\\.|ocsf\\.)?ndjson)");
                List<String> lines = Files.readAllLines(download.path());
                assertThat(lines).hasSize(format.equals("CSV") ? 151 : 150);
                assertThat(lines.get(lines.size() - 1)).contains("step_1", "300");
                assertThat(page.locator("#export-progress")).containsText("complete");
            }
            page.route(
                    "**/export?*",
                    route -> route.fulfill(new Route.FulfillOptions()
                            .setStatus(429)
                            .setContentType("application/problem+json")
                            .setBody("{\"detail\": \"Others are exporting.\"}")));
            page.locator("#export").click();
            assertThat(page.locator("#export-error")).hasText("Others are exporting.");
        }
    }

    @Test
    void anExportStreamsIntoAFileAndLeavesNoneIfItBreaksOff() throws Exception {
        Project project = log.newProject();
        append(project, "{\"action\": \"first\"}", "{\"action\": \"second\"}");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            // The browser's private files are written like files that a reader picks.
            page.addInitScript("""
                    window.showSaveFilePicker = async ({suggestedName}) =>
                      (await navigator.storage.getDirectory()).getFileHandle(suggestedName, {create: true});""");
            signIn(page, project);
            page.locator("#share").click();
            page.getByLabel("NDJSON").check();
            page.locator("#export").click();
            assertThat(page.locator("#export-progress")).containsText("complete");
            assertThat(written(page).lines().toList()).hasSize(2);

            page.evaluate("""
                    () => {
                      const real = window.fetch;
                      window.fetch = async (...given) => {
                        const {ok, status, headers} = await real(...given);
                        const body = new ReadableStream({
                          start(controller) { controller.enqueue(new TextEncoder().encode('half of')); },
                          pull(controller) { controller.error(new TypeError('cut')); },
                        });
                        return {ok, status, headers, body};
                      };
                    }""");
            page.locator("#export").click();
            assertThat(page.locator("#export-error")).containsText("broke off");
            assertThat(written(page)).doesNotContain("half of");
        }
    }

    private static String written(Page page) {
        return page.evaluate("""
                async () => (await (await (await navigator.storage.getDirectory()).getFileHandle('annals.ndjson')).getFile()).text()""").toString();
    }

    @Test
    void aViewIsKeptByItsNameAndItsAddressShowsItElsewhere() {
        Project project = log.newProject();
        append(project, "{\"action\": \"a\"}", "{\"action\": \"b\", \"metadata\": {\"x\": 1}}");
        String name = "<b>Mine</b> \u202e";
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project, "#q=action:b&last=24h&columns=metadata.x");
            assertThat(page.locator("#rows tr")).hasCount(1);
            page.locator("#views").click();
            page.fill("#view-name", name);
            page.keyboard().press("Enter");
            assertThat(page.locator("#view-title")).hasText("<b>Mine</b> \\u202e");
            assertThat(page.locator("#heads th")).hasText(new String[] {"Time UTC", "Action", "x"});
            String address = page.url();
            page.getByLabel(Pattern.compile("Remove the filter Search")).click();
            assertThat(page.locator("#rows tr")).hasCount(2);
            assertThat(page.locator("#view-title")).isHidden();

            page.navigate(service + "#");
            assertThat(page.locator("#heads th.message")).isVisible();
            page.locator("#views").click();
            checkAccess(page);
            page.locator("#views-list a").click();
            assertThat(page.locator("#views-dialog")).isHidden();
            assertThat(page.locator("#rows tr")).hasCount(1);
            assertThat(page).hasURL(address);

            try (Guarded other = open()) {
                other.page.navigate(address);
                other.page.fill("#token", project.token());
                other.page.keyboard().press("Enter");
                assertThat(other.page.locator("#view-title")).hasText("<b>Mine</b> \\u202e");
                assertThat(other.page.locator("#heads th")).hasText(new String[] {"Time UTC", "Action", "x"});
                assertThat(other.page.locator("#range")).containsText("Last 24 hours");
            }
            page.locator("#views").click();
            page.getByLabel(Pattern.compile("Remove the view")).click();
            assertThat(page.locator("#views-list li")).hasCount(0);
        }
    }

    @Test
    void allRowsThatAreLoadedArePrinted() {
        Project project = log.newProject();
        append(
                project,
                IntStream.range(0, 100)
                        .mapToObj(i -> "{\"action\": \"step_" + i + "\"}")
                        .toArray(String[]::new));
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            Locator rows = page.locator("#rows tr");
            assertThat(page.locator("#loaded")).containsText("100 records loaded");
            assertThat(rows).not().hasCount(100);
            page.evaluate("dispatchEvent(new Event('beforeprint'))");
            page.emulateMedia(new Page.EmulateMediaOptions().setMedia(Media.PRINT));
            assertThat(rows).hasCount(100);
            assertThat(page.locator("#filters")).isHidden();
            assertThat(page.locator("#paper")).containsText("100 records, #1 to #100.");
            page.emulateMedia(new Page.EmulateMediaOptions().setMedia(Media.SCREEN));
            page.evaluate("dispatchEvent(new Event('afterprint'))");
            assertThat(rows).not().hasCount(100);
        }
    }

    @Test
    void nothingIsCutOnPaperAndWhatIsNotOnItIsSaid() throws Exception {
        Project project = log.newProject();
        String wide = "w".repeat(250);
        append(
                project,
                IntStream.range(0, 160)
                        .mapToObj(i -> """
                                {"action": "%1$s", "actor": {"type": "user", "name": "%1$s"}, "subject": {"type": "%1$.60s", "name": "%1$s"},
                                 "outcome": "%1$.64s", "ip_address": "2001:db8:1111:2222:3333:4444:5555:6666", "message": "%1$s %1$s שלום",
                                 "metadata": {"a": "%1$s", "b": 1, "c": 2, "d": 3, "e": 4, "f": 5, "g": 6, "h": 7}}""".formatted(i == 3 ? wide : "w"))
                        .toArray(String[]::new));
        for (String address : new String[] {
            "#last=24h",
            "#columns=actor,subject,outcome,ip_address,recorded_by,recorded_at,message,number,metadata.a,metadata.b,metadata.c,"
                    + "metadata.d,metadata.e,metadata.f,metadata.g,metadata.h"
        }) {
            for (int width :
                    Load.isLong() ? new int[] {1440, 360} : new int[] {address.equals("#last=24h") ? 1440 : 360}) {
                try (Guarded guarded = chromium.open(
                        new Browser.NewContextOptions()
                                .setViewportSize(width, 800)
                                .setColorScheme(ColorScheme.DARK),
                        service)) {
                    Page page = guarded.page;
                    signIn(page, project, address);
                    assertThat(page.locator("#loaded")).containsText("100 records loaded");
                    toTheEnd(page);
                    assertThat(page.locator("#loaded")).containsText("160 records loaded");
                    byte[] paper = page.pdf(new Page.PdfOptions().setFormat("A4"));
                    assertThat(pages(paper)).isGreaterThan(2);
                    assertThat(page.locator("#rows tr")).not().hasCount(160);

                    // The width between the margins of A4, upright.
                    page.emulateMedia(new Page.EmulateMediaOptions().setMedia(Media.PRINT));
                    page.setViewportSize(703, 1000);
                    // The page hears of its new size with the next frame, and draws what is in sight.
                    page.evaluate(
                            "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))");
                    page.evaluate("dispatchEvent(new Event('beforeprint'))");
                    assertThat(page.locator("#rows tr")).hasCount(160);
                    assertThat((List<?>) page.evaluate("""
                            [...document.querySelectorAll('#paper *, thead th, #rows td')].filter((one) =>
                              one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().right > 704).map((one) => one.outerHTML.slice(0, 120))""")).isEmpty();
                    for (String column : new String[] {"action", "actor", "subject", "outcome", "number"}) {
                        assertThat(page.locator("#rows td." + column).first()).isVisible();
                    }
                    page.evaluate("dispatchEvent(new Event('afterprint'))");
                }
            }
        }
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            ViewerRowsTest.holdAtMost(page, "rows.js", "MAX_PRINTED = 2_000;", "MAX_PRINTED = 30;");
            signIn(page, project, "#q=w&last=24h&view=Mine");
            assertThat(page.locator("#loaded")).containsText("100 records loaded");
            page.evaluate("dispatchEvent(new Event('beforeprint'))");
            assertThat(page.locator("#paper"))
                    .containsText("30 records, #131 to #160. Not on paper: 70 more that are loaded, older ones.");
            assertThat(page.locator("#paper")).containsText("Search: w");
            assertThat(page.locator("#paper")).containsText("Time: Last 24 hours");
            assertThat(page.locator("#paper")).containsText("View: Mine");
            page.evaluate("dispatchEvent(new Event('afterprint'))");

            // With a record open, it is the one that is printed.
            page.locator("#rows tr").first().locator("a").click();
            assertThat(page.locator("#detail pre")).isVisible();
            byte[] paper = page.pdf(new Page.PdfOptions().setFormat("A4"));
            assertThat(pages(paper)).isLessThan(4);
            page.emulateMedia(new Page.EmulateMediaOptions().setMedia(Media.PRINT));
            assertThat(page.locator("#paper")).isVisible();
            assertThat(page.locator("#paper")).not().containsText("Not on paper");
            assertThat(page.locator("#detail pre")).isVisible();
            assertThat(page.locator("#rows")).isHidden();
            assertThat(page.locator("#detail .acts").first()).isHidden();
        }
    }

    private static int pages(byte[] paper) {
        return new String(paper, StandardCharsets.ISO_8859_1).split("/Type /Page\\b(?!s)", -1).length - 1;
    }

    private static void toTheEnd(Page page) {
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
    }

    private void signIn(Page page, Project project, String fragment) {
        page.navigate(service + fragment);
        page.fill("#token", project.token());
        page.keyboard().press("Enter");
        assertThat(page.locator("#viewer")).isVisible();
    }
}
