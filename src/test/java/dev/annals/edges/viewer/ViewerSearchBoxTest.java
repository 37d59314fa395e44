package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.ColorScheme;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Slow;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The search box completes with the keyboard alone, shows its language, and leads on when nothing matches. */
@Slow
@QuarkusTest
class ViewerSearchBoxTest extends BrowserTest {

    private static final String ATTACK = "<img src=x onerror=alert(1)>\\\" \\u202e*";

    private static final String[] RECORDS = {"""
        {"action": "login", "actor": {"type": "user", "id": "%1$s", "name": "Jane"}, "outcome": "success",
         "metadata": {"%1$s": "%1$s", "request_id": "7f3a 9"}, "timestamp": "2026-03-12T09:00:00Z"}""".formatted(ATTACK), """
        {"action": "logout", "actor": {"type": "user", "id": "u-2", "name": "Joe"}, "outcome": "denied",
         "timestamp": "2026-03-12T10:00:00Z"}"""};

    private static Locator box(Page page) {
        return page.locator("input[name=q]");
    }

    private static Locator options(Page page) {
        return page.locator("#completions [role=option]");
    }

    /** Types with the keyboard. */
    private static void type(Page page, String text, String... keys) {
        page.keyboard().type(text);
        for (String key : keys) {
            page.keyboard().press(key);
        }
    }

    private void open(Page page, Project project) {
        append(project, RECORDS);
        signIn(page, project);
        assertThat(page.locator("#rows tr")).hasCount(2);
        page.keyboard().press("/");
        assertThat(box(page)).isFocused();
        // The values of the fields arrive with the first look.
        type(page, "", "ArrowDown", "Escape");
        assertThat(page.locator("#known-action option")).hasCount(2);
    }

    @Test
    void fieldsAndValuesAreCompletedByKeysAlone() throws SQLException {
        Project project = log.newProject();
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            open(page, project);
            type(page, "-out");
            assertThat(box(page)).hasAttribute("aria-expanded", "true");
            assertThat(options(page)).hasCount(1);
            type(page, "", "ArrowDown");
            assertThat(options(page).first()).hasAttribute("aria-selected", "true");
            assertThat(box(page)).hasAttribute("aria-activedescendant", "completion-0");
            type(page, "", "Tab");
            assertThat(box(page)).hasValue("-outcome:");
            assertThat(options(page)).hasText(new String[] {"denied", "success"});
            type(page, "", "ArrowUp", "ArrowUp", "Enter");
            assertThat(box(page)).hasValue("-outcome:denied ");
            assertThat(box(page)).hasAttribute("aria-expanded", "false");
            type(page, "last:7", "ArrowDown", "Escape");
            assertThat(options(page)).hasCount(0);
            assertThat(box(page)).hasValue("-outcome:denied last:7");
            type(page, "d");
            assertThat(options(page)).hasText(new String[] {"7dLast 7 days"});
            box(page).fill("-outcome:denied ");
            type(page, "", "Enter");
            assertThat(page.locator("#rows .action")).hasText(new String[] {"login"});
            page.locator("#project").focus();
            assertThat(page.locator("#completions")).isHidden();
        }
        checkUnchanged(project);
    }

    @Test
    void hostileValuesAreTextAndFindTheirRecords() throws SQLException {
        Project project = log.newProject();
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            open(page, project);
            type(page, "actor:ja");
            assertThat(options(page)).hasCount(1);
            assertThat(page.locator("#completions img")).hasCount(0);
            assertThat(options(page)).containsText("<img src=x onerror=alert(1)>\" \\u202e*");
            type(page, "", "ArrowDown", "Enter", "Enter");
            assertThat(page.locator("#rows .action")).hasText(new String[] {"login"});
            box(page).fill("");
            type(page, "metadata.\"");
            assertThat(options(page)).hasCount(1);
            type(page, "", "ArrowDown", "Enter", "ArrowDown", "Enter", "Enter");
            assertThat(page.locator("#problem")).isHidden();
            assertThat(page.locator("#rows .action")).hasText(new String[] {"login"});
            box(page).fill("");
            type(page, "request", "ArrowDown");
            assertThat(options(page)).hasCount(0);
            box(page).fill("");
            type(page, "metadata.request_id:", "ArrowDown", "Enter", "Enter");
            assertThat(page).hasURL(Pattern.compile("metadata.request_id%3A%227f3a\\+9%22"));
            assertThat(page.locator("#rows .action")).hasText(new String[] {"login"});
        }
        checkUnchanged(project);
    }

    @Test
    void recentQueriesAreOfferedOfThisProjectAlone() {
        Project project = log.newProject();
        Project other = log.newProject();
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            open(page, project);
            for (int i = 0; i < 25; i++) {
                box(page).fill("login q" + i);
                box(page).press("Enter");
            }
            assertThat(page.evaluate("JSON.parse(localStorage['annals.queries']).length"))
                    .isEqualTo(20);
            box(page).fill("");
            type(page, "login", "ArrowDown");
            assertThat(options(page).first()).hasText("login q24Recent");
            type(page, "", "Enter", "Enter");
            assertThat(page).hasURL(Pattern.compile("q=login\\+q24$"));
            page.evaluate("localStorage['annals.queries'] = '{broken'");
            box(page).fill("");
            type(page, "log");
            assertThat(options(page)).hasCount(0);
            box(page).fill("login");
            box(page).press("Enter");
            page.locator("#sign-out").click();
            signIn(page, other);
            box(page).focus();
            type(page, "lo");
            assertThat(options(page)).hasCount(0);
        }
    }

    @Test
    void theHelpShowsTheLanguageThatTheServiceReads() {
        Project project = log.newProject();
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            open(page, project);
            List<?> examples = (List<?>)
                    page.evaluate(
                            "async () => (await import(new URL('query.js', document.baseURI))).LANGUAGE.map(({write}) => write)");
            assertThat(examples).hasSizeGreaterThan(20);
            for (Object example : examples) {
                project.request()
                        .get(AuditLogFixture.LOGS + "?q="
                                + URLEncoder.encode(example.toString(), StandardCharsets.UTF_8))
                        .then()
                        .statusCode(200);
            }
            type(page, "?");
            assertThat(page.locator("#help")).isVisible();
            assertThat(page.locator("#language dt")).hasCount(examples.size());
            checkAccess(page);
            page.locator("#language button").nth(3).press("Enter");
            assertThat(page.locator("#help")).isHidden();
            assertThat(box(page)).hasValue("action:volume_create");
            assertThat(box(page)).isFocused();
        }
    }

    @Test
    void theBoxFitsAPhoneInTheDark() {
        Project project = log.newProject();
        Browser.NewContextOptions options =
                new Browser.NewContextOptions().setViewportSize(390, 800).setColorScheme(ColorScheme.DARK);
        try (Guarded guarded = chromium.open(options, service)) {
            Page page = guarded.page;
            open(page, project);
            type(page, "a", "ArrowDown");
            assertThat(options(page)).hasCount(5);
            checkAccess(page);
            assertThat(page.evaluate(
                            "document.getElementById('completions').getBoundingClientRect().right <= innerWidth"))
                    .isEqualTo(true);
            box(page).fill("?");
            assertThat(page.locator("#help")).isVisible();
            checkAccess(page);
        }
    }

    @Test
    void anEmptyPageSaysWhatWasSearchedAndLeadsOn() {
        Project project = log.newProject();
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            open(page, project);
            Locator text = page.locator("#progress");
            Locator widen = page.locator("#widen");
            assertThat(widen).isHidden();
            page.navigate(service + "#q=action:joe&outcome=denied&last=24h");
            assertThat(text)
                    .hasText(
                            "No records match these filters. Every field of the records of the last 24 hours up to #2 was searched.");
            assertThat(widen).hasText("Search all times");
            widen.press("Enter");
            assertThat(widen).hasText("Search without the other filters");
            assertThat(text)
                    .hasText("No records match these filters. Every field of all records up to #2 was searched.");
            checkAccess(page);
            widen.press("Enter");
            assertThat(widen).hasText("Search for joe in every field");
            widen.press("Enter");
            assertThat(page).hasURL(Pattern.compile("#q=joe$"));
            assertThat(page.locator("#rows .action")).hasText(new String[] {"logout"});
            assertThat(widen).isHidden();
            page.navigate(service + "#q=absent&start=2026-03-01&end=2026-04-01");
            assertThat(text)
                    .containsText(
                            "Every field of the records from 2026-03-01 00:00:00 UTC until 2026-04-01 00:00:00 UTC");
            page.navigate(service + "#q=-login+-logout");
            assertThat(text).containsText("was searched.");
            assertThat(widen).isHidden();
        }
    }

    private void checkUnchanged(Project project) throws SQLException {
        assertThat(log.checkFeed(project.id())).isEqualTo(2);
    }
}
