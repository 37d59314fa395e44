package dev.annals.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.deque.html.axecore.playwright.AxeBuilder;
import com.deque.html.axecore.results.Rule;
import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Page;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.viewer.Chromium.Guarded;
import io.quarkus.test.common.http.TestHTTPResource;
import jakarta.inject.Inject;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** Tests of the viewer in a real browser, one for all tests of a class. */
abstract class BrowserTest {

    static Chromium chromium;

    @Inject
    AuditLogFixture log;

    @TestHTTPResource("/")
    URI service;

    @BeforeAll
    static void startBrowser() {
        chromium = Chromium.start();
    }

    @AfterAll
    static void stopBrowser() {
        if (chromium != null) {
            chromium.close();
        }
    }

    /** Opens a window of a desktop. */
    Guarded open() {
        return chromium.open(new Browser.NewContextOptions().setViewportSize(1440, 900), service);
    }

    void signIn(Page page, Project project) {
        page.navigate(service.toString());
        page.fill("#token", project.token());
        page.keyboard().press("Enter");
        assertThat(page.locator("#viewer")).isVisible();
    }

    /** Nobody is kept out, and nothing has to be scrolled sideways. */
    static void checkAccess(Page page, String... exceptFor) {
        List<Rule> violations = new AxeBuilder(page)
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
