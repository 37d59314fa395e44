package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Load;
import dev.annals.Slow;
import dev.annals.TakesLong;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each value of a record leads to the records that have it, to all others, and to those around it, whatever characters it has. */
@Slow
@TakesLong
@QuarkusTest
class ViewerPivotTest extends BrowserTest {

    private static final ObjectMapper JSON = new ObjectMapper();

    private static final int COPY = 0;
    private static final int EXCLUDE = 1;
    private static final int AROUND = 2;

    /** The number of values that were searched. */
    private static int turn;

    /** The suffix that makes each value of the record unique. */
    private static final Map<String, String> LABELS = Map.ofEntries(
            Map.entry("Action", "action"),
            Map.entry("Outcome", "outcome"),
            Map.entry("Actor", "actor"),
            Map.entry("Actor id", "actor-id"),
            Map.entry("Actor type", "actor-type"),
            Map.entry("Subject", "subject"),
            Map.entry("Subject id", "subject-id"),
            Map.entry("Subject type", "subject-type"),
            Map.entry("session", "session"),
            Map.entry("tags.0", "tag"));

    /** The record that is looked for, amid one that has other values, and one that has none. */
    private static String record(String hostile) {
        ObjectNode record = JSON.createObjectNode();
        record.put("action", hostile + "action");
        record.put("outcome", hostile + "outcome");
        for (String party : new String[] {"actor", "subject"}) {
            record.putObject(party)
                    .put("type", hostile + party + "-type")
                    .put("id", hostile + party + "-id")
                    .put("name", hostile + party);
        }
        ObjectNode metadata = record.putObject("metadata");
        metadata.put("session", hostile + "session");
        metadata.putArray("tags").add(hostile + "tag").add("x");
        metadata.putObject("a.b \"c\" \\").put(hostile, hostile + "named");
        return record.toString();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "white  space \"quotes\" 'and' back\\slash\\\\ \\\" ",
                "-leading",
                "--two NOT (wild*card* *",
                "OR a,b (c) AND field:value metadata.x:",
                "\u202e\u200f\u2067right-to-left \u05e9\u05dc\u05d5\u05dd \u0627\u0644\u0639\u0631 ",
                "\\u0000 %00 \u0001\u001f\u007f line\nbreak\r\n\ttab ",
                "<img src=x onerror=alert(1)>&amp;#+% $(x) `id`;",
                "\ud83d\ude00 e\u0301 \u00a0\u2028 "
            })
    void eachValueFindsItsRecordAloneWhateverItHas(String hostile) throws Exception {
        Project project = log.newProject();
        append(project, record(hostile), record("plain-"), "{\"action\": \"bare\"}");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.context().grantPermissions(List.of("clipboard-read", "clipboard-write"));
            signIn(page, project);
            Map<String, String> labels = new java.util.TreeMap<>(LABELS);
            labels.put(nameOfTheNested(hostile), "named");
            for (Map.Entry<String, String> one : labels.entrySet()) {
                String label = one.getKey();
                openFirst(page);
                if (isIn(COPY)) {
                    pivot(page, "Copy this ", label).click();
                    assertThat(page.locator("#announce")).hasText("Copied");
                    // The main line of a party with a name shows and copies the name.
                    assertThat(page.evaluate("navigator.clipboard.readText()"))
                            .as(label)
                            .isEqualTo(hostile + one.getValue());
                }

                pivot(page, "Only this ", label).click();
                assertThat(page.locator("#loaded")).containsText(Pattern.compile("^1 record loaded, #1 to #1"));
                assertThat(page.locator("#problem")).isHidden();

                // Unchanged filters are asked for again.
                String before = page.url();
                page.locator("input[name=q]").press("Enter");
                assertThat(page).hasURL(before.replaceFirst("&record=.*", ""));

                if (isIn(EXCLUDE)) {
                    openFirst(page);
                    pivot(page, "Exclude this ", label).click();
                    assertThat(page.locator("#loaded")).containsText(Pattern.compile("^2 records loaded, #2 to #3"));
                    assertThat(page.locator("#problem")).isHidden();
                }

                if (isIn(AROUND)) {
                    openFirst(page);
                    pivot(page, "Around this record: same ", label).click();
                    assertThat(page.locator("#loaded")).containsText(Pattern.compile("^1 record loaded, #1 to #1"));
                    assertThat(page.locator("#rows tr.target")).hasCount(1);
                }
                turn++;
            }
        }
        log.checkFeed(project.id());
    }

    /** Whether it is done with this value: each in turn, so that in the end it is with each value and each text; or all of them. */
    private static boolean isIn(int kind) {
        return turn % Load.times(3, 1) == Load.times(kind, 0);
    }

    private static String nameOfTheNested(String hostile) {
        return "a.b \"c\" \\." + hostile;
    }

    private void openFirst(Page page) {
        page.navigate(service + "#");
        assertThat(page.locator("#loaded")).containsText("3 records loaded");
        page.locator("#rows tr").nth(2).locator("a").click();
        assertThat(page.locator("#detail pre")).isVisible();
    }

    /** The button of a value, which names it as the page shows it. */
    private static Locator pivot(Page page, String action, String label) {
        String shown = (String) page.evaluate("async (label) => (await import('./text.js')).line(label)", label);
        return page.locator("#detail").locator("[aria-label=" + JSON.valueToTree(action + shown) + "]");
    }

    @Test
    void recordsOfTheSameSessionAreOneClickAwayWhateverTheFieldIsCalled() {
        Project project = log.newProject();
        List<String> records = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            records.add("""
                    {"action": "step_%1$d", "metadata": {"http": {"request_id": "r-%1$d", "status": "%3$d"},
                     "attributes": {"session.id": "s-%2$d"}, "trace_id": "t-%2$d", "session": {"started": 7}}}""".formatted(i, i % 2, i % 4));
        }
        append(project, records.toArray(String[]::new));
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            page.locator("#rows tr").nth(20).locator("a").click();
            assertThat(page.locator(".around a"))
                    .hasText(new String[] {"everything", "same session", "same request", "same trace"});
            page.getByText("same session").click();
            assertThat(page.locator("#loaded")).containsText("20 records loaded");
            assertThat(page.locator("#rows tr.target")).containsText("step_19");
            assertThat(page.locator("#rows tr.target + tr")).containsText("step_17");
            assertThat(page.locator("input[name=q]")).hasValue("metadata.attributes.\"session.id\":s-1");
            checkAccess(page);

            page.getByLabel("Around this record: same http.status").click();
            assertThat(page.locator("#loaded")).containsText("10 records loaded");
            assertThat(page.locator("#rows tr.target + tr")).containsText("step_15");
        }
    }

    @Test
    void aMessageLeadsToTheOthersThatSayTheSame() {
        Project project = log.newProject();
        append(
                project,
                "{\"action\": \"a\", \"message\": \"Disk \\\"full\\\" (90%), -now*\"}",
                "{\"action\": \"b\", \"message\": \"Disk full\"}",
                "{\"action\": \"c\", \"message\": \"---\"}");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            page.locator("#rows tr").nth(0).locator("a").click();
            assertThat(page.getByLabel("Copy this Message")).isVisible();
            assertThat(page.getByLabel("Only this Message")).hasCount(0);
            page.locator("#rows tr").nth(2).locator("a").click();
            page.getByLabel("Only this Message").click();
            assertThat(page.locator("#rows .action")).hasText(new String[] {"a"});
            page.navigate(service + "#");
            assertThat(page.locator("#rows tr")).hasCount(3);
            page.locator("#rows tr").nth(2).locator("a").click();
            page.getByLabel("Exclude this Message").click();
            assertThat(page.locator("#rows .action")).hasText(new String[] {"c", "b"});
        }
    }
}
