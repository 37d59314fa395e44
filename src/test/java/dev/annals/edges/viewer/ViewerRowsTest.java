package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.APIResponse;
import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Route;
import com.microsoft.playwright.options.ReducedMotion;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Load;
import dev.annals.Slow;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** However many records are loaded, few rows are in the page, and none is lost, doubled or hidden without a word. */
@Slow
@QuarkusTest
class ViewerRowsTest extends BrowserTest {

    private static final int MANY = Load.times(6_000, 50_000);

    /** Scrolls through all rows, frame by frame, and notes which ones were drawn, how many at a time, and how long frames took. */
    private static final String SCROLL_THROUGH = """
            async () => {
              const seen = [];
              const frames = [];
              let most = 0;
              let wrong = 0;
              scrollTo(0, 0);
              let last = performance.now();
              for (;;) {
                await new Promise(requestAnimationFrame);
                frames.push(performance.now() - last);
                last = performance.now();
                const rows = [...document.querySelectorAll('#rows tr')];
                most = Math.max(most, rows.length);
                for (const row of rows) {
                  const id = Number(row.lastElementChild.textContent);
                  wrong += Number(row.getAttribute('aria-rowindex')) === ROWS - id + 2 ? 0 : 1;
                  seen[id] = (seen[id] ?? 0) + 1;
                }
                const ids = rows.map((row) => Number(row.lastElementChild.textContent));
                wrong += ids.every((id, i) => i === 0 || id === ids[i - 1] - 1) ? 0 : 1;
                if (scrollY + innerHeight >= document.documentElement.scrollHeight - 1) {
                  break;
                }
                scrollBy(0, innerHeight);
              }
              frames.sort((a, b) => a - b);
              return {seen: Object.keys(seen).length, most, wrong, frames: frames.length,
                median: frames[frames.length >> 1], worst: frames.at(-1)};
            }""".replace("ROWS", Integer.toString(MANY));

    @Test
    void manyRecordsAreScrolledThroughAndFewRowsAreInThePage() throws Exception {
        Project project = log.newProject();
        for (int from = 0; from < MANY; from += 1000) {
            append(project, numbered(from, from + 1000));
        }
        Browser.NewContextOptions options =
                new Browser.NewContextOptions().setViewportSize(1440, 1800).setReducedMotion(ReducedMotion.REDUCE);
        try (Guarded guarded = chromium.open(options, service)) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(page.locator("#rows").locator("..")).hasAttribute("aria-rowcount", "-1");
            scrollToTheBeginning(page);
            assertThat(page.locator("#loaded")).hasText(String.format("%1$,d records loaded, #1 to #%1$,d", MANY));
            assertThat(page.locator("#rows").locator("..")).hasAttribute("aria-rowcount", Integer.toString(MANY + 1));
            assertThat(rows(page).last()).containsText("step_0");

            Map<?, ?> found = (Map<?, ?>) page.evaluate(SCROLL_THROUGH);
            System.out.println("Scrolled through " + MANY + " rows: " + found);
            assertThat(found.get("seen")).isEqualTo(MANY);
            assertThat(found.get("wrong")).isEqualTo(0);
            assertThat((Integer) found.get("most")).isLessThan(120);

            // From the last row the keys lead on, also where it is far away.
            rows(page).last().locator("a").focus();
            page.evaluate("scrollTo(0, 0)");
            assertThat(rows(page).nth(1)).containsText("step_" + (MANY - 1));
            page.keyboard().press("ArrowUp");
            assertThat(page.locator("#rows a:focus")).hasCount(1);
            assertThat(page.locator("#rows tr:focus-within")).containsText("step_1");
            checkAccess(page);
        }
        log.checkFeed(project.id());
    }

    @Test
    void aFullPageSaysSoAndGoesOnFromThereOnRequest() throws Exception {
        Project project = log.newProject();
        append(project, numbered(0, 1000));
        append(project, numbered(1000, 1300));
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            holdAtMost(page, 1_100);
            signIn(page, project);
            assertThat(page.locator("#live")).hasText("Live");
            Locator progress = page.locator("#progress");
            page.waitForCondition(() -> {
                toTheEnd(page);
                return progress.textContent().startsWith("1,100 records are loaded, as many as this page holds.");
            });
            assertThat(page.locator("#loaded")).containsText("#201 to #1,300");

            // New ones push the last ones out, which are read again where the reader goes on.
            page.evaluate("scrollTo(0, 0)");
            append(project, numbered(1300, 1310));
            assertThat(rows(page).first()).containsText("step_1309");
            assertThat(page.locator("#loaded")).containsText("1,100 records loaded, #211 to #1,310");
            toTheEnd(page);
            page.locator("#go-on").click();
            assertThat(page.locator("tr.target")).containsText("step_210");
            scrollToTheBeginning(page);
            assertThat(rows(page).last()).containsText("step_0");
            page.locator("#newest").click();
            assertThat(rows(page).first()).containsText("step_1309");
        }
        log.checkFeed(project.id());
    }

    @Test
    void largeRecordsAreHeldUpToALimitOfTheirOwnWhichIsSaidAndReadOnFrom() throws Exception {
        Project project = log.newProject();
        for (int from = 0; from < 300; from += 100) {
            append(project, large(from, from + 100));
        }
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            holdAtMost(page, "store.js", "MAX_CHARACTERS = 64 << 20;", "MAX_CHARACTERS = 1 << 20;");
            signIn(page, project);
            assertThat(page.locator("#live")).hasText("Live");
            Locator progress = page.locator("#progress");
            page.waitForCondition(() -> {
                toTheEnd(page);
                return page.locator("#go-on").isVisible();
            });
            assertThat(progress)
                    .hasText(
                            Pattern.compile(
                                    "^1\\d\\d records are loaded, together 1 MiB: as much as this page holds. Older ones are not shown.$"));
            assertThat(page.locator("#loaded"))
                    .hasText(Pattern.compile("^1\\d\\d records loaded, #1\\d\\d to #300; older ones are left out$"));
            int held = loaded(page);

            // New ones push the last ones out, which are read again where the reader goes on.
            page.evaluate("scrollTo(0, 0)");
            append(project, large(300, 310));
            assertThat(rows(page).first()).containsText("step_309");
            assertThat(page.locator("#loaded")).containsText("to #310");
            assertThat(loaded(page)).isEqualTo(held);
            toTheEnd(page);
            page.locator("#go-on").click();
            assertThat(page.locator("tr.target")).containsText("step_" + (310 - held));
            page.waitForCondition(() -> {
                toTheEnd(page);
                if (page.locator("#go-on").isVisible()) {
                    page.locator("#go-on").click();
                }
                return progress.textContent().equals("The beginning of the feed.");
            });
            toTheEnd(page);
            assertThat(rows(page).last()).containsText("step_0");
        }
        log.checkFeed(project.id());
    }

    private static int loaded(Page page) {
        return Integer.parseInt(page.locator("#loaded").textContent().replaceFirst(" .*", ""));
    }

    private static String[] large(int from, int to) {
        return IntStream.range(from, to)
                .mapToObj(i -> "{\"action\": \"step_" + i + "\", \"message\": \"" + "x".repeat(5_500) + "\"}")
                .toArray(String[]::new);
    }

    @Test
    void aPausedPageHoldsNewRecordsUpToALimitAndSaysSo() {
        Project project = log.newProject();
        append(project, numbered(0, 3));
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.route("**/feed.js", route -> {
                APIResponse answer = route.fetch();
                assertThat(answer.text()).contains("MAX_ARRIVED_CHARACTERS = 16 << 20;");
                route.fulfill(new Route.FulfillOptions()
                        .setResponse(answer)
                        .setBody(answer.text()
                                .replace("MAX_ARRIVED_CHARACTERS = 16 << 20;", "MAX_ARRIVED_CHARACTERS = 20_000;")));
            });
            signIn(page, project);
            assertThat(page.locator("#live")).hasText("Live");
            page.locator("#live").click();
            append(project, large(3, 10));
            assertThat(page.locator("#newest")).hasText("7 new records");
            assertThat(rows(page)).hasCount(3);
            // They are too much to wait in the page, and are read anew.
            page.waitForRequest(
                    request -> request.url().contains("order=desc"),
                    () -> page.locator("#newest").click());
            assertThat(rows(page)).hasCount(10);
            assertThat(page.locator("#loaded")).hasText("10 records loaded, #1 to #10");
            assertThat(page.locator("#newest")).isHidden();
        }
    }

    @Test
    void onAPhoneNoLineIsEmptyAndEachChosenColumnIsThere() {
        Project project = log.newProject();
        append(project, """
                {"action": "a", "actor": {"id": "u"}, "subject": {"id": "s"}, "outcome": "success", "message": "m", "metadata": {"x": 1}}""");
        Browser.NewContextOptions phone = new Browser.NewContextOptions().setViewportSize(360, 800);
        try (Guarded guarded = chromium.open(phone, service)) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(rows(page)).hasCount(1);
            for (String columns : new String[] {
                "time,action",
                "actor",
                "outcome",
                "message",
                "number",
                "subject,metadata.x",
                "message,number",
                "actor,message",
                "outcome,subject",
                "actor,outcome,message,subject,ip_address,metadata.x"
            }) {
                page.navigate(service + "#columns=" + columns);
                for (String column : columns.replace("metadata.x", "metadata").split(",", -1)) {
                    assertThat(page.locator("#rows td." + column)).isVisible();
                }
                assertThat(page.evaluate("""
                                () => {
                                  const row = document.querySelector('#rows tr');
                                  const lines = new Map([...row.cells].map((cell) => cell.getBoundingClientRect())
                                    .map(({top, height}) => [Math.round(top / 8), height]));
                                  const {height, paddingTop, paddingBottom, borderBottomWidth} = getComputedStyle(row);
                                  const rest = [height, -parseFloat(paddingTop), -parseFloat(paddingBottom), -parseFloat(borderBottomWidth)]
                                    .reduce((sum, size) => sum + parseFloat(size), 0);
                                  return Math.round(rest - [...lines.values()].reduce((sum, size) => sum + size, 0));
                                }""")).as(columns).isEqualTo(0);
            }
        }
    }

    @Test
    void rowsThatArriveWhileOlderOnesAreReadLeaveNoHole() throws Exception {
        Project project = log.newProject();
        append(project, numbered(0, 300));
        AtomicReference<Route> held = new AtomicReference<>();
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            holdAtMost(page, 200);
            page.route(url -> url.contains("cursor=201-") && url.contains("order=desc"), route -> {
                if (!held.compareAndSet(null, route)) {
                    route.resume();
                }
            });
            signIn(page, project);
            assertThat(page.locator("#live")).hasText("Live");
            page.waitForCondition(() -> {
                toTheEnd(page);
                return held.get() != null;
            });
            page.evaluate("scrollTo(0, 0)");
            append(project, numbered(300, 405));
            assertThat(page.locator("#loaded")).containsText("200 records loaded, #206 to #405");
            assertThat(page.locator("#stop")).isVisible();
            held.get().resume();
            assertThat(page.locator("#stop")).isHidden();
            assertThat(page.locator("#loaded")).containsText("200 records loaded, #206 to #405");
            List<Integer> seen = new java.util.ArrayList<>();
            for (int i = 0; i < 12; i++) {
                page.locator("#rows td.number").allTextContents().forEach(text -> seen.add(Integer.valueOf(text)));
                page.evaluate("async () => { scrollBy(0, 700); await new Promise(requestAnimationFrame); }");
            }
            assertThat(seen.stream().distinct().sorted().collect(Collectors.toList()))
                    .isEqualTo(IntStream.rangeClosed(206, 405).boxed().collect(Collectors.toList()));
        }
        log.checkFeed(project.id());
    }

    @Test
    void olderRowsAreReadOnAfterNewOnesArrived() throws Exception {
        Project project = log.newProject();
        append(project, numbered(0, 250));
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(page.locator("#live")).hasText("Live");
            append(project, numbered(250, 251));
            assertThat(rows(page).first()).containsText("step_250");
            scrollToTheBeginning(page);
            assertThat(page.locator("#loaded")).hasText("251 records loaded, #1 to #251");
        }
        log.checkFeed(project.id());
    }

    /** Has the page hold fewer rows than it does, so that a test reaches the limit soon. */
    private static void holdAtMost(Page page, int rows) {
        holdAtMost(page, "store.js", "MAX_ROWS = 50_000;", "MAX_ROWS = " + rows + ";");
    }

    /** Has the page hold less than it does. */
    static void holdAtMost(Page page, String file, String limit, String less) {
        page.route("**/" + file, route -> {
            APIResponse answer = route.fetch();
            assertThat(answer.text()).contains(limit);
            route.fulfill(new Route.FulfillOptions()
                    .setResponse(answer)
                    .setBody(answer.text().replace(limit, less)));
        });
    }

    private static void scrollToTheBeginning(Page page) {
        page.waitForCondition(() -> {
            toTheEnd(page);
            return page.locator("#progress").textContent().equals("The beginning of the feed.");
        });
        toTheEnd(page);
    }

    private static void toTheEnd(Page page) {
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
    }

    private static Locator rows(Page page) {
        return page.locator("#rows tr");
    }

    private static String[] numbered(int from, int to) {
        return IntStream.range(from, to)
                .mapToObj(i -> "{\"action\": \"step_" + i + "\"}")
                .toArray(String[]::new);
    }
}
