package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.AriaRole;
import com.microsoft.playwright.options.ColorScheme;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Slow;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The subject is in sight at every width, and the changes that a record names are side by side. */
@Slow
@QuarkusTest
class ViewerChangesTest extends BrowserTest {

    private static final String[] SHAPES = {
        "\"changes\": {\"role\": {\"before\": \"viewer\", \"after\": \"admin\"}, \"seats\": {\"before\": 3}}",
        "\"changes\": {\"role\": {\"from\": \"viewer\", \"to\": \"admin\"}, \"seats\": {\"from\": 3}}",
        "\"changes\": [{\"field\": \"role\", \"old\": \"viewer\", \"new\": \"admin\"}, {\"name\": \"seats\", \"old_value\": 3}]",
        "\"changes\": {\"before\": {\"role\": \"viewer\", \"seats\": 3}, \"after\": {\"role\": \"admin\"}}",
        "\"before\": {\"role\": \"viewer\", \"seats\": 3}, \"after\": {\"role\": \"admin\"}",
        "\"before\": {\"seats\": 3, \"role\": \"viewer\"}, \"after\": {\"role\": \"admin\"}",
    };

    @Test
    void theSubjectIsInSightAtEveryWidthAlsoBesideAnOpenRecord() throws Exception {
        Project project = log.newProject();
        append(project, """
                {"action": "role_grant", "actor": {"id": "u-1", "name": "jane.doe@example.org"}, "outcome": "success",
                 "subject": {"type": "role", "id": "r-7", "name": "billing-admin"}, "message": "Granted"}""");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            for (int width : new int[] {320, 390, 800, 960, 1024, 1200, 1290, 1440, 1700}) {
                page.setViewportSize(width, 800);
                page.navigate(service + "#");
                assertSubjectIsSeen(page, width);
                checkAccess(page);
                if (width >= 960) {
                    page.locator("#rows a").press("Enter");
                    assertThat(page.locator("#detail pre")).isVisible();
                    assertSubjectIsSeen(page, width);
                }
            }
            page.setViewportSize(1000, 800);
            page.navigate(
                    service + "#columns=time,action,actor,subject,outcome,ip_address,recorded_by,recorded_at,message");
            page.locator("#rows a").press("Enter");
            assertThat(page.locator("#detail pre")).isVisible();
            page.waitForCondition(() -> edgeOf(page, "#heads th:last-child") <= edgeOf(page, "table") + 1);
            assertThat(page.locator("#rows td.subject").boundingBox().width).isGreaterThan(30);
        }
        log.checkFeed(project.id());
    }

    private static double edgeOf(Page page, String place) {
        var box = page.locator(place).first().boundingBox();
        return box.x + box.width;
    }

    private static void assertSubjectIsSeen(Page page, int width) {
        Locator subject = page.locator("#rows td.subject");
        assertThat(subject).isVisible();
        subject.scrollIntoViewIfNeeded();
        page.waitForCondition(() -> page.evaluate("""
                () => {
                  const {left, right, top, width} = document.querySelector('#rows td.subject').getBoundingClientRect();
                  const at = document.elementFromPoint((left + right) / 2, top + 8);
                  return width >= 48 && at?.closest('td.subject') !== null && right <= document.querySelector('.records').getBoundingClientRect().right;
                }""").equals(true));
        assertThat(subject).containsText("billing-admin");
        assertThat(page.locator("#rows td.action")).isVisible();
        assertThat(page.locator("#rows td.outcome")).isVisible();
        assertThat(subject.boundingBox().width).as("%d", width).isGreaterThanOrEqualTo(48);
    }

    @Test
    void changesOfEachShapeAreSideBySideAndWhatDiffersIsMarked() throws Exception {
        Project project = log.newProject();
        append(
                project,
                List.of(SHAPES).stream()
                        .map(shape ->
                                "{\"action\": \"update\", \"metadata\": {\"request_id\": \"q-1\", " + shape + "}}")
                        .toArray(String[]::new));
        for (ColorScheme scheme : new ColorScheme[] {ColorScheme.LIGHT, ColorScheme.DARK}) {
            for (int width : new int[] {1440, 390}) {
                try (Guarded guarded = chromium.open(
                        new Browser.NewContextOptions()
                                .setViewportSize(width, 800)
                                .setColorScheme(scheme),
                        service)) {
                    Page page = guarded.page;
                    signIn(page, project);
                    page.locator("#rows a").first().press("Enter");
                    for (int i = 0; i < SHAPES.length; i++) {
                        Locator changes = page.locator("#detail .changes tbody tr");
                        assertThat(changes).hasCount(2);
                        Locator role = changes.filter(new Locator.FilterOptions().setHasText("role"));
                        assertThat(role.locator("th, td")).hasText(new String[] {"role", "viewer", "admin"});
                        assertThat(role.locator("del")).hasText("viewer");
                        assertThat(role.locator("ins")).hasText("admin");
                        assertThat(changes.filter(new Locator.FilterOptions().setHasText("seats"))
                                        .locator("th, td"))
                                .hasText(new String[] {"seats", "3", "none"});
                        // Other metadata stay, and a value of the changes is a filter, too.
                        assertThat(page.locator("#detail dl.metadata").last()).containsText("q-1");
                        page.locator("#detail summary").press("Enter");
                        assertThat(page.locator("#detail details dl")).containsText("viewer");
                        if (i == 0) {
                            checkAccess(page);
                        }
                        page.locator("#older-record").press("Enter");
                    }
                }
            }
        }
        log.checkFeed(project.id());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"changes\": 3",
                "\"changes\": []",
                "\"changes\": [[1, 2]]",
                "\"changes\": [{\"field\": \"a\"}]",
                "\"changes\": {\"a\": {\"x\": 1}}",
                "\"changes\": {\"a\": [1, 2, 3]}",
                "\"before\": {\"a\": 1}",
                "\"before\": 1, \"after\": 2",
                "\"before\": null, \"after\": null"
            })
    void otherMetadataStayAList(String metadata) {
        Project project = log.newProject();
        append(project, "{\"action\": \"a\", \"metadata\": {" + metadata + "}}");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            page.locator("#rows a").press("Enter");
            assertThat(page.locator("#detail pre")).isVisible();
            assertThat(page.locator("#detail .changes")).hasCount(0);
        }
    }

    @Test
    void hostileAndHugeChangesAreBoundedTextAndHideNothing() throws Exception {
        Project project = log.newProject();
        String many = IntStream.range(0, 250)
                .mapToObj(i -> "\"f%d\": [%d, %d]".formatted(i, i, i < 150 ? i : i + 1))
                .collect(Collectors.joining(", "));
        append(project, "{\"action\": \"many\", \"metadata\": {\"changes\": {" + many + "}}}", """
                {"action": "odd", "metadata": {"before": {"a.b": 1, "a": {"b": 2}, "t": "1", "u": "%s1", "n": 0.10, "big": 12345678901234567890,
                   "<img src=x onerror=alert(1)>": "x\\u202ey", "__proto__": 1, "": 5, "same": [1]},
                 "after": {"a.b": 9, "a": {"b": 2}, "t": 1, "u": "%s2", "n": 0.1, "big": 12345678901234567891,
                   "<img src=x onerror=alert(1)>": "x\\ud83d\\ude00", "__proto__": 2, "": 6, "same": [1]}}}""".formatted(
                        "z".repeat(9_000), "z".repeat(9_000)));
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            page.locator("#rows a").first().press("Enter");
            Locator rows = page.locator("#detail .changes tbody tr");
            assertThat(row(page, "\"a.b\"").locator("td")).hasText(new String[] {"1", "9"});
            assertThat(row(page, "t").locator("td")).hasText(new String[] {"\"1\"", "1"});
            assertThat(row(page, "big").locator("del")).hasText("0");
            assertThat(row(page, "big").locator("ins")).hasText("1");
            assertThat(row(page, "__proto__").locator("td")).hasText(new String[] {"1", "2"});
            assertThat(row(page, "\"\"").locator("td")).hasText(new String[] {"5", "6"});
            assertThat(row(page, "<img src=x onerror=alert(1)>").locator("td"))
                    .hasText(new String[] {"x\\u202ey", "x\ud83d\ude00"});
            assertThat(row(page, "u").textContent()).hasSizeLessThan(5_000);
            row(page, "u").locator("button").first().press("Enter");
            assertThat(row(page, "u").locator("del")).hasText("1");
            // Those that are alike follow the others, unmarked.
            assertThat(rows.last().locator("del, ins")).hasCount(0);
            assertThat(rows.last()).hasClass("same");

            page.locator("#older-record").press("Enter");
            assertThat(page.locator("#detail-title")).hasText("many");
            assertThat(rows).hasCount(100);
            assertThat(page.locator("#detail .changed")).hasCount(100);
            page.getByText("… show 150 more").press("Enter");
            assertThat(rows).hasCount(250);
            assertThat(page.evaluate("document.activeElement.closest('.changes') !== null"))
                    .isEqualTo(true);
        }
        log.checkFeed(project.id());
    }

    private static Locator row(Page page, String field) {
        return page.locator("#detail .changes tbody tr")
                .filter(new Locator.FilterOptions()
                        .setHas(page.getByRole(
                                AriaRole.ROWHEADER,
                                new Page.GetByRoleOptions().setName(field).setExact(true))));
    }
}
