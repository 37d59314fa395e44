package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.ColorScheme;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Slow;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import org.junit.jupiter.api.Test;

/** Rows are in the order of the feed or, on request, by the time of the event; the page says which, and loses none. */
@Slow
@QuarkusTest
class ViewerOrderTest extends BrowserTest {

    private static String record(String action, String time) {
        return "{\"action\": \"" + action + "\", \"timestamp\": \"" + time + "\"}";
    }

    @Test
    void loadedRecordsAreSortedByEventTimeAndThePageSaysSo() throws Exception {
        Project project = log.newProject();
        append(
                project,
                record("b", "2026-03-01T10:00:00.5Z"),
                record("d", "2026-03-01T10:00:01Z"),
                record("a", "2026-03-01T10:00:00Z"),
                record("first", "0999-03-01T10:00:00Z"),
                record("c", "2026-03-01T10:00:00.51+00:00"));
        for (int width : new int[] {1440, 390}) {
            try (Guarded guarded = chromium.open(
                    new Browser.NewContextOptions().setViewportSize(width, 800).setColorScheme(ColorScheme.DARK),
                    service)) {
                Page page = guarded.page;
                signIn(page, project);
                Locator actions = page.locator("#rows td.action bdi");
                assertThat(actions).hasText(new String[] {"c", "first", "a", "d", "b"});
                page.locator("#order").press("Enter");
                assertThat(page.locator("#order")).hasAttribute("aria-pressed", "true");
                assertThat(actions).hasText(new String[] {"d", "c", "b", "a", "first"});
                assertThat(page.locator("#loaded")).hasText("5 records loaded, #1 to #5, sorted by event time");
                assertThat(page.locator("#heads .time")).hasAttribute("aria-sort", "descending");
                checkAccess(page);

                // The keys follow what is shown.
                page.locator("#rows a").first().focus();
                page.keyboard().press("j");
                page.keyboard().press("Enter");
                assertThat(page.locator("#detail-title")).hasText("c");
                page.locator("#older-record").press("Enter");
                assertThat(page.locator("#detail-title")).hasText("b");
                page.keyboard().press("Escape");

                page.locator("#order").press("Enter");
                assertThat(actions).hasText(new String[] {"c", "first", "a", "d", "b"});
                assertThat(page.locator("#loaded")).hasText("5 records loaded, #1 to #5");
            }
        }
        log.checkFeed(project.id());
    }

    @Test
    void recordsThatArriveLateTakeTheirPlaceInTime() {
        Project project = log.newProject();
        append(project, record("a", "2026-03-01T10:00:00Z"), record("b", "2026-03-01T12:00:00Z"));
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(page.locator("#live")).hasText("Live");
            page.locator("#order").press("Enter");
            append(project, record("between", "2026-03-01T11:00:00Z"));
            assertThat(page.locator("#rows td.action bdi")).hasText(new String[] {"b", "between", "a"});
            assertThat((Object) page.locator("#rows tr").nth(1).getAttribute("aria-rowindex"))
                    .isEqualTo("3");
        }
    }
}
