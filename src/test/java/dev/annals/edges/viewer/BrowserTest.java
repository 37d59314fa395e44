package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.deque.html.axecore.playwright.AxeBuilder;
import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.ReducedMotion;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.edges.viewer.Chromium.Guarded;
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

    /** The broken rules, each with its elements. */
    private static final String AXE = """
            async (exceptFor) => {
              const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
              const results = await axe.run({ runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'] });
              return results.violations
                .filter((rule) => !exceptFor.includes(rule.id))
                .map((rule) => [rule.id, rule.help, ...rule.nodes.map((node) => node.html + ' ' + node.failureSummary)]);
            }""";

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
     * Opens a window of a desktop with reduced motion: a pulsing light would be painted all the time. Pages that tests open
     * without this method do move.
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

    /** Checks the rules of accessibility, and that nothing has to be scrolled sideways. */
    static void checkAccess(Page page, String... exceptFor) {
        // Once for each page: to send it again takes as long as the check.
        if ((Boolean) page.evaluate("typeof axe === 'undefined'")) {
            page.evaluate(AxeBuilder.getAxeScript());
        }
        List<?> violations = (List<?>) page.evaluate(AXE, List.of(exceptFor));
        assertThat(violations).as(page.url()).isEmpty();
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
