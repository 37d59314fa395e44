package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.ReducedMotion;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Slow;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Everything works without a mouse, and the focus is always visible and never lost. */
@Slow
@QuarkusTest
class ViewerKeysTest extends BrowserTest {

    private static final int MANY = 80;

    /** The fault of the focus: it is invisible, or covered. Empty without a fault. */
    private static final String FAULT = """
            () => {
              const element = document.activeElement;
              if (element === document.body) {
                return 'the focus is lost';
              }
              const outlined = (one) => one !== null && getComputedStyle(one).outlineStyle !== 'none' && parseFloat(getComputedStyle(one).outlineWidth) >= 2;
              const hit = element.querySelector(':scope > .hit');
              const seen = outlined(element) || outlined(element.closest('#rows tr')) || (hit !== null && getComputedStyle(hit).stroke !== 'none');
              const {left, top, width, height} = element.getBoundingClientRect();
              const above = document.elementFromPoint(left + width / 2, top + height / 2);
              const free = above !== null && (element.contains(above) || above.contains(element));
              return (seen ? '' : 'not seen: ') + (free ? '' : 'covered: ') + (seen && free ? '' : element.outerHTML.slice(0, 200));
            }""";

    /** A window in which nothing is on its way to another place. */
    private Guarded still() {
        return chromium.open(
                new Browser.NewContextOptions().setViewportSize(1440, 900).setReducedMotion(ReducedMotion.REDUCE),
                service);
    }

    private static String[] records(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> """
                        {"action": "step_%d", "actor": {"id": "u-%d"}, "outcome": "%s", "metadata": {"session_id": "s-%d"}}""".formatted(i, i % 3, i % 2 == 0 ? "success" : "denied", i % 5))
                .toArray(String[]::new);
    }

    @Test
    void everyPlaceIsReachedByTabAndTheFocusIsSeenThere() {
        Project project = log.newProject("read", "write");
        append(project, records(3));
        try (Guarded guarded = still()) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(rows(page)).hasCount(3);
            assertThat(page.locator("#histogram")).isVisible();
            page.locator("#values").press("Enter");
            page.locator("#more-filters").press("Enter");
            assertThat(page.locator("#facets-list section").first()).isVisible();
            page.navigate(service + "#outcome=success&last=24h");
            assertThat(rows(page)).hasCount(2);
            assertThat(page.locator("#facets")).hasAttribute("aria-busy", "false");
            rows(page).first().locator("a").press("Enter");
            assertThat(page.locator("#detail pre")).isVisible();
            page.locator("#project").focus();
            StringBuilder reached = new StringBuilder();
            for (int i = 0; i < 150; i++) {
                page.keyboard().press("Tab");
                Object at = page.evaluate("document.activeElement.id || document.activeElement.getAttribute('class')");
                reached.append(' ').append(at);
                if (page.evaluate("document.activeElement === document.body").equals(true)) {
                    break;
                }
                assertThat(page.evaluate(FAULT)).as(reached.toString()).isEqualTo("");
            }
            assertThat(reached.toString())
                    .contains(
                            "live",
                            "proof-state",
                            "theme",
                            "show-help",
                            "sign-out",
                            "range",
                            "more-filters",
                            "interval",
                            "earlier",
                            "later",
                            "values",
                            "zone",
                            "columns",
                            "views",
                            "share",
                            "value-only",
                            "only",
                            "newer-record",
                            "older-record",
                            "close-detail",
                            "near",
                            "value");
        }
    }

    @Test
    void dialogsKeepTheFocusAndGiveItBack() {
        Project project = log.newProject("read", "write");
        append(project, records(3));
        try (Guarded guarded = still()) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(rows(page)).hasCount(3);
            for (String[] one : new String[][] {
                {"project", "projects-dialog"},
                {"proof-state", "proof"},
                {"show-help", "help"},
                {"columns", "columns-dialog"},
                {"views", "views-dialog"},
                {"share", "share-dialog"}
            }) {
                Locator opener = page.locator("#" + one[0]);
                Locator dialog = page.locator("#" + one[1]);
                for (String close : new String[] {"Escape", "Enter"}) {
                    tabTo(page, "#" + one[0]);
                    page.keyboard().press("Enter");
                    assertThat(dialog).isVisible();
                    page.waitForCondition(() -> holdsTheFocus(dialog));
                    for (int i = 0; i < 30; i++) {
                        page.keyboard().press("Tab");
                        // Behind the last one, the browser's own controls have their turn.
                        assertThat(holdsTheFocus(dialog)
                                        || page.evaluate("document.activeElement === document.body")
                                                .equals(true))
                                .as(one[1])
                                .isTrue();
                    }
                    if (close.equals("Enter")) {
                        dialog.locator(".primary").focus();
                    }
                    page.keyboard().press(close);
                    assertThat(dialog).isHidden();
                    assertThat(opener).isFocused();
                }
            }
            tabTo(page, "#range");
            page.keyboard().press("Enter");
            tabTo(page, "#presets button:nth-child(2)");
            page.keyboard().press("Enter");
            assertThat(page).hasURL(Pattern.compile("#last=1h$"));
            assertThat(page.locator("#range")).isFocused();
        }
    }

    private static boolean holdsTheFocus(Locator element) {
        return element.evaluate("element => element.contains(document.activeElement)")
                .equals(true);
    }

    @Test
    void theFocusMovesOnFromAnElementThatDisappears() {
        Project project = log.newProject("read", "write");
        append(project, records(MANY));
        append(project, records(200));
        try (Guarded guarded = still()) {
            Page page = guarded.page;
            ViewerRowsTest.holdAtMost(page, "store.js", "MAX_ROWS = 50_000;", "MAX_ROWS = 120;");
            signIn(page, project);
            assertThat(page.locator("#live")).hasText("Live");

            // Filters that are taken away.
            page.navigate(service + "#outcome=success&actor=u-1");
            tabTo(page, "#chips button:nth-child(1)");
            page.keyboard().press("Enter");
            assertThat(page.locator("#chips button")).hasCount(1);
            assertThat(page.locator("#chips button")).isFocused();
            page.keyboard().press("Enter");
            assertThat(page.locator("#chips button")).hasCount(0);
            assertThat(page.locator("input[name=q]")).isFocused();

            // Values that are chosen, and chosen no longer.
            tabTo(page, "#values");
            page.keyboard().press("Enter");
            assertThat(page.locator("#facets-list section").first()).isVisible();
            tabTo(page, "[aria-labelledby=facet-outcome] li:nth-child(1) .value-only");
            page.keyboard().press("Enter");
            Locator chosen = page.locator("[aria-labelledby=facet-outcome] .value-only[aria-pressed=true]");
            assertThat(chosen).isFocused();
            page.keyboard().press("Enter");
            assertThat(chosen).hasCount(0);
            assertThat(page.locator("[aria-labelledby=facet-outcome] li")).hasCount(2);
            assertThat(page.locator("[aria-labelledby=facet-outcome] .value-only:focus"))
                    .hasCount(1);
            page.keyboard().press("Tab");
            page.keyboard().press("Enter");
            assertThat(page.locator("[aria-labelledby=facet-outcome] li")).hasCount(1);
            assertThat(page.locator("[aria-labelledby=facet-outcome] button:focus"))
                    .hasCount(1);
            page.locator("#values").press("Enter");
            page.navigate(service + "#");

            // A record that is closed, and one whose row is not loaded.
            assertThat(rows(page).nth(20)).isVisible();
            page.keyboard().press("j");
            page.keyboard().press("Enter");
            assertThat(page.locator("#detail pre")).isVisible();
            tabTo(page, "#detail [aria-label='Only this Outcome']");
            page.keyboard().press("Enter");
            assertThat(page.locator("#detail [aria-label='Only this Outcome']")).isFocused();
            page.keyboard().press("Escape");
            assertThat(page.locator("#detail")).isHidden();
            assertThat(page.evaluate("document.activeElement !== document.body"))
                    .isEqualTo(true);
            page.navigate(service + "#action=nothing&record=0197b1c0-5b1c-7cc4-8d5e-3f1d2c4b5a69");
            assertThat(page.locator("#detail-body [role=alert]")).isVisible();
            page.keyboard().press("Escape");
            assertThat(page.locator("#records-title")).isFocused();

            // Records that arrived meanwhile.
            page.navigate(service + "#");
            assertThat(page.locator("#live")).hasText("Live");
            page.locator("#live").press("Enter");
            append(project, records(2));
            assertThat(page.locator("#newest")).hasText("2 new records");
            page.locator("#newest").press("Enter");
            assertThat(page.locator("#newest")).isHidden();
            assertThat(page.evaluate("document.activeElement.id || document.activeElement.outerHTML.slice(0, 200)"))
                    .isEqualTo("records-title");

            // The end of what the page holds.
            page.waitForCondition(() -> {
                page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
                return page.locator("#go-on").isVisible();
            });
            page.locator("#go-on").press("Enter");
            assertThat(page.locator("tr.target")).hasCount(1);
            page.waitForCondition(() -> page.evaluate(
                            "document.activeElement !== document.body && document.activeElement.closest('[hidden]') === null")
                    .equals(true));

            // A fault, and its end.
            page.locator("input[name=q]").fill("acton:foo");
            page.keyboard().press("Enter");
            assertThat(page.locator("#problem")).isVisible();
            tabTo(page, "#reload");
            page.keyboard().press("Enter");
            page.waitForCondition(() ->
                    page.evaluate("document.activeElement !== document.body").equals(true));
        }
    }

    private static void tabTo(Page page, String place) {
        for (int i = 0; i < 400; i++) {
            if (page.locator(place)
                    .first()
                    .evaluate("element => element === document.activeElement")
                    .equals(true)) {
                assertThat(page.evaluate(FAULT)).isEqualTo("");
                return;
            }
            page.keyboard().press("Tab");
        }
        throw new AssertionError(place + " is not reached by Tab");
    }

    private static Locator rows(Page page) {
        return page.locator("#rows tr");
    }
}
