package dev.annals.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.deque.html.axecore.args.AxeRunOptions;
import com.deque.html.axecore.playwright.AxeBuilder;
import com.deque.html.axecore.results.Rule;
import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.ReducedMotion;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.viewer.Chromium.Guarded;
import io.quarkus.test.common.http.TestHTTPResource;
import jakarta.inject.Inject;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;

/**
 * Tests of the viewer in a real browser. It is one for all of them, as its start takes longer than most tests, and ends with
 * this Java machine. Each test has a context of its own, which shares nothing with the others.
 */
abstract class BrowserTest {

    static Chromium chromium;

    @Inject
    AuditLogFixture log;

    @TestHTTPResource("/")
    URI service;

    @BeforeAll
    static void startBrowser() {
        if (chromium == null) {
            chromium = Chromium.start();
        }
    }

    /**
     * Opens a window of a desktop, for somebody who wants nothing to move: a light that pulses is painted anew all the time,
     * whatever the test waits for. Most pages that tests open by themselves do move.
     */
    Guarded open() {
        return chromium.open(
                new Browser.NewContextOptions().setViewportSize(1440, 900).setReducedMotion(ReducedMotion.REDUCE),
                service);
    }

    void signIn(Page page, Project project) {
        page.navigate(service.toString());
        page.fill("#token", project.token());
        page.keyboard().press("Enter");
        assertThat(page.locator("#viewer")).isVisible();
    }

    /** Nobody is kept out, and nothing has to be scrolled sideways. */
    static void checkAccess(Page page, String... exceptFor) {
        AxeRunOptions options = new AxeRunOptions();
        options.setResultTypes(List.of("violations"));
        // The page has no frames. To put the results of several together, axe would open another page, which takes
        // longer
        // than the check.
        List<Rule> violations = new AxeBuilder(page)
                .setLegacyMode(true)
                .options(options)
                .withTags(List.of("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"))
                .analyze()
                .getViolations();
        assertThat(violations)
                .as(page.url())
                .filteredOn(rule -> !List.of(exceptFor).contains(rule.getId()))
                .isEmpty();
        assertThat(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))
                .isEqualTo(true);
    }

    static void append(Project project, String... records) {
        project.request()
                .contentType("application/json")
                .body(AuditLogFixture.batch(records).getBytes(StandardCharsets.UTF_8))
                .post(AuditLogFixture.BATCH)
                .then()
                .statusCode(201);
    }
}
