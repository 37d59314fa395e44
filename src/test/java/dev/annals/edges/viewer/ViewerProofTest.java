package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.APIResponse;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Route;
import com.microsoft.playwright.options.ColorScheme;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.Slow;
import dev.annals.derived.log.HostileWitness;
import dev.annals.edges.viewer.Chromium.Guarded;
import dev.annals.tools.embedded.TestDatabase;
import dev.annals.tools.ops.LogCommands;
import io.quarkus.test.junit.QuarkusTest;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.sql.Connection;
import java.time.Instant;
import java.util.Base64;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The viewer proves records and logs that match their signature, and warns of those that do not. */
@Slow
@QuarkusTest
class ViewerProofTest extends BrowserTest {

    /** Numbers that a double would round, and text beyond ASCII. */
    private static final String RECORD = """
            {"action": "pay", "actor": {"type": "user", "name": "Zoë"}, "message": "a \\u2028 b \\"c\\" \\ud83d\\ude00",
             "metadata": {"exact": 12345678901234567890, "one": 1.10, "small": 0.000000000000000000001, "nested": {"b": [1.0, null], "a": {}}}}""";

    @Test
    void aRecordIsProvedOnceAKeyIsPinnedAndAsSoonAsItIsInTheLog() throws Exception {
        Project project = log.newProject();
        append(project, RECORD);
        try (Guarded guarded = open();
                Connection projection = log.connect()) {
            Page page = guarded.page;
            signIn(page, project);
            openNewest(page);
            assertThat(proof(page)).containsText("Not verified");
            proof(page).getByText("Pin a key").click();
            assertThat(page.locator("#offer-note")).containsText("The service itself names this key");
            checkAccess(page);
            assertThat(page.locator("#rows .mark[data-state]")).hasCount(0);
            takeOver(page);
            assertThat(proof(page)).hasText("Proved at size 1");
            assertThat(mark(page, 1)).hasAttribute("aria-label", "Proved at size 1");

            // The log does not grow while this transaction locks its row.
            AuditLogFixture.execute(
                    projection,
                    "select from annals.projection_checkpoint where project_id = '" + project.id() + "' for update");
            append(project, RECORD);
            assertThat(page.locator("#rows tr")).hasCount(2);
            openNewest(page);
            assertThat(proof(page)).containsText("Not in the log yet");
            assertThat(mark(page, 2)).hasAttribute("aria-label", "Not in the log yet");
            assertThat(mark(page, 1)).hasAttribute("aria-label", "Proved at size 1");
            projection.rollback();
            assertThat(proof(page)).hasText("Proved at size 2");
            assertThat(mark(page, 2)).hasAttribute("aria-label", "Proved at size 2");

            page.reload();
            assertThat(page.locator("#proof-state")).hasText("Verified");
            assertThat(proof(page)).hasText("Proved at size 2");
            page.locator("#proof-state").click();
            assertThat(page.locator("#log-kept")).hasText("2 records");
            page.getByLabel(Pattern.compile("^Unpin the key")).click();
            assertThat(page.locator("#vkey")).isFocused();
            page.keyboard().press("Escape");
            assertThat(proof(page)).containsText("Not verified");
            assertThat(page.locator("#proof-state")).hasText("Not verified");
        }
        log.checkFeed(project.id());
    }

    @Test
    void aRecordThatDoesNotFitTheCatalogueIsMarkedAndProved() throws Exception {
        Project project = log.newProject();
        given().header("Authorization", "Bearer " + AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body(
                        "{\"unknown_actions\": \"mark\", \"actions\": [{\"name\": \"login\", \"title\": \"Sign-in <b>\"}]}")
                .put("/v1/projects/" + project.id() + "/actions")
                .then()
                .statusCode(200);
        append(project, RECORD, "{\"action\": \"login\"}");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            page.locator("#proof-state").click();
            takeOver(page);
            openNewest(page);
            assertThat(page.locator("#detail-body .meaning")).hasText("Sign-in <b>");
            assertThat(row(page, 2).locator(".badge")).hasCount(0);
            assertThat(row(page, 1).locator(".badge")).hasText("misfit");
            assertThat(mark(page, 1)).hasAttribute("aria-label", "Proved at size 2");
            page.keyboard().press("j");
            assertThat(proof(page)).hasText("Proved at size 2");
            assertThat(page.locator("#detail-body"))
                    .containsText("/action is not in the project's catalogue of actions");
            checkAccess(page);
        }
    }

    @Test
    void anAuditorSeesTheAdministrationAndThatItIsProved() throws Exception {
        String made = log.newProject().id().toString();
        Project annals = new Project(
                UUID.fromString(log.text("select annals.administration()")), log.newToken("annals", "audit"));
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, annals);
            page.locator("#proof-state").click();
            takeOver(page);
            assertThat(page.locator("#proof-state")).hasText("Verified");
            page.navigate(page.url().replaceAll("#.*", "") + "#subject=" + made);
            assertThat(page.locator("#rows tr").first()).containsText("annals.project.create");
            openNewest(page);
            assertThat(proof(page)).containsText("Proved at size");
        }
    }

    @Test
    void aRecordThatDiffersFromTheSignedLogDoesNotMatch() throws Exception {
        Project project = log.newProject();
        append(
                project,
                IntStream.range(0, 300)
                        .mapToObj(i -> "{\"action\": \"step_" + i + "\"}")
                        .toArray(String[]::new));
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            page.locator("#proof-state").click();
            takeOver(page);
            assertThat(page.locator("#proof-state")).hasText("Verified");

            AtomicReference<UnaryOperator<String>> proofs = alter(page, "**/proof");
            AtomicReference<UnaryOperator<String>> pages = alter(page, "**/project-logs?*");
            proofs.set(text -> text.replaceFirst("(\n\u2014 \\S+ \\S{20})(.)", "$1/"));
            openNewest(page);
            assertThat(proof(page)).containsText("Does not match");
            assertThat(proof(page)).containsText("does not hold");

            proofs.set(ViewerProofTest::withForgedRecord);
            page.keyboard().press("j");
            assertThat(proof(page)).containsText("does not have record");

            page.keyboard().press("Escape");
            proofs.set(UnaryOperator.identity());
            pages.set(text -> text.replace("step_298", "step_299"));
            page.reload();
            openNewest(page);
            assertThat(proof(page)).hasText("Proved at size 300");
            assertThat(mark(page, 300)).hasAttribute("aria-label", "Proved at size 300");
            assertThat(mark(page, 299)).hasAttribute("aria-label", "Does not match");
            assertThat(mark(page, 298)).hasAttribute("aria-label", "Proved at size 300");
            assertThat(page.locator("#rows .mark[data-state=wrong]")).hasCount(1);
            assertThat(page.locator("#proof-state")).hasText("Does not match");
            page.keyboard().press("j");
            assertThat(proof(page)).containsText("The log proves another record than the service has shown");
            pages.set(UnaryOperator.identity());

            // The owner of the database changes a record that a full tile holds.
            log.run(
                    "set local session_replication_role = replica",
                    "update annals.audit_record set action = 'forged' where project_id = '" + project.id()
                            + "' and action = 'step_100'");
            String forged = log.text("select id from annals.audit_record where project_id = '" + project.id()
                    + "' and action = 'forged'");
            page.navigate(service + "#record=" + forged);
            assertThat(page.locator("#detail-title")).hasText("forged");
            assertThat(proof(page)).containsText("Does not match");
            assertThat(proof(page)).containsText("ask the operator of the service");
            page.emulateMedia(new Page.EmulateMediaOptions().setColorScheme(ColorScheme.DARK));
            checkAccess(page);
        }
    }

    @Test
    void theListSaysOfEachRecordInSightHowItStandsWithIt() throws Exception {
        Project project = log.newProject();
        append(
                project,
                IntStream.range(0, 250)
                        .mapToObj(i -> "{\"action\": \"step_" + i % 10 + "\", \"message\": \"secret " + i + "\"}")
                        .toArray(String[]::new));
        try (Guarded guarded = open();
                HostileWitness witness = new HostileWitness()) {
            Page page = guarded.page;
            signIn(page, project);
            openNewest(page);
            Project redacting = new Project(project.id(), log.newToken(project.id(), "read", "redact"));
            for (int sequenceId : new int[] {249, 250}) {
                redact(redacting, sequenceId);
            }
            assertThat(page.locator("#loaded")).containsText("102 records loaded");
            assertThat(row(page, 250)).containsText("secret 249");
            page.locator("#proof-state").click();
            takeOver(page);
            // Values that were redacted since are shown neither in the panel nor in the list any longer.
            assertThat(proof(page)).hasText("Proved at size 252, 1 value redacted");
            assertThat(page.locator("#detail-body")).not().containsText("secret");
            for (int sequenceId : new int[] {249, 250}) {
                assertThat(mark(page, sequenceId)).hasAttribute("aria-label", "Proved at size 252, 1 value redacted");
                assertThat(row(page, sequenceId)).containsText("redacted");
                assertThat(row(page, sequenceId)).not().containsText("secret");
            }
            assertThat(mark(page, 248)).hasAttribute("aria-label", "Proved at size 252");
            assertThat(page.locator("#rows .mark:not([data-state])")).not().hasCount(0);
            page.keyboard().press("Escape");
            scrollTo(page, 151);
            assertThat(mark(page, 151)).hasAttribute("aria-label", "Proved at size 252");
            checkAccess(page);

            // Those that pass a filter are far from each other.
            page.navigate(service + "#action=step_3");
            assertThat(mark(page, 244)).hasAttribute("aria-label", "Proved at size 252");
            scrollTo(page, 4);
            assertThat(mark(page, 4)).hasAttribute("aria-label", "Proved at size 252");

            alter(page, "**/project-logs?*").set(text -> withCosignature(text, witness));
            page.locator("#proof-state").click();
            page.fill("#vkey", witness.vkey());
            page.keyboard().press("Enter");
            assertThat(page.locator("#pinned li")).hasCount(2);
            page.locator("#close-proof").click();
            assertThat(mark(page, 4)).hasAttribute("aria-label", "Proved at size 252 with 1 witness");
        }
        log.checkFeed(project.id());
    }

    @Test
    void aValueThatIsGoneThoughTheLogDoesNotSaySoDoesNotMatch() throws Exception {
        Project project = log.newProject();
        append(project, "{\"action\": \"one\"}", "{\"action\": \"two\", \"message\": \"secret\"}");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            page.locator("#proof-state").click();
            takeOver(page);
            assertThat(page.locator("#proof-state")).hasText("Verified");
            log.redactSilently(
                    project.id(),
                    log.text("select id from annals.feed where project_id = '" + project.id()
                            + "' and sequence_id = 2"));
            openNewest(page);
            assertThat(proof(page)).containsText("lacks its message, and no annals.redact record of the log says so");
        }
    }

    private void redact(Project redacting, int sequenceId) throws Exception {
        String id = log.text("select id from annals.feed where project_id = '" + redacting.id() + "' and sequence_id = "
                + sequenceId);
        redacting
                .request()
                .contentType("application/json")
                .body("{\"fields\": [\"message\"], \"reason\": \"a reason\"}")
                .post(AuditLogFixture.LOGS + "/" + id + "/redactions")
                .then()
                .statusCode(200);
    }

    /** A page whose checkpoint a witness has cosigned, if it has one. */
    private static String withCosignature(String page, HostileWitness witness) {
        Matcher note = Pattern.compile("(?<=\"checkpoint\":\")[^\"]*(?=\")").matcher(page);
        return note.replaceFirst(found -> {
            try {
                String text = found.group().replace("\\n", "\n");
                String line = witness.line(text.substring(0, text.lastIndexOf("\n\n") + 1), Instant.now());
                return Matcher.quoteReplacement((text + line).replace("\n", "\\n"));
            } catch (GeneralSecurityException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    private static Locator row(Page page, int sequenceId) {
        return page.locator("#rows tr:has(td.number:text-is('" + sequenceId + "'))");
    }

    /** Rows are in the page once they are near its window. */
    private static void scrollTo(Page page, int sequenceId) {
        page.waitForCondition(() -> {
            page.evaluate("scrollBy(0, 300)");
            return row(page, sequenceId).count() == 1;
        });
        row(page, sequenceId).scrollIntoViewIfNeeded();
    }

    private static Locator mark(Page page, int sequenceId) {
        return row(page, sequenceId).locator(".mark");
    }

    @Test
    void aForkIsShownLoudlyAndTheOlderCheckpointIsKept() throws Exception {
        Project project = log.newProject();
        append(project, RECORD, RECORD);
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            page.locator("#proof-state").click();
            takeOver(page);
            assertThat(page.locator("#proof-state")).hasText("Verified");
            Object kept = page.evaluate("localStorage['annals.log.' + '" + project.id() + "']");

            // The attacker has the key and the database, and signs another history.
            log.run(
                    "select from annals.projection_checkpoint where project_id = '" + project.id() + "' for update",
                    "set local session_replication_role = replica",
                    "update annals.audit_record set action = 'forged' where project_id = '" + project.id() + "'",
                    "delete from annals.merkle_tile where project_id = '" + project.id() + "'",
                    "delete from annals.merkle_log where project_id = '" + project.id() + "'",
                    "update annals.projection_checkpoint set sequence_id = 0 where project_id = '" + project.id()
                            + "' and projection = 'log'",
                    // In the same commit, since the service signs no other root for as many records as before.
                    "set local session_replication_role = origin",
                    "insert into annals.audit_record (project_id, action) values ('" + project.id() + "', 'later')");
            Await.until(
                    "the other history is signed",
                    () -> log.number("select coalesce(max(size), 0) from annals.merkle_log where project_id = '"
                                    + project.id() + "'")
                            == 3);
            openNewest(page);
            assertThat(proof(page)).containsText("Does not match");
            assertThat(page.locator("#fork-text")).containsText("records were changed, removed or inserted");
            page.reload();
            assertThat(page.locator("#fork-text")).containsText("Your older checkpoint is kept");
            assertThat(page.locator("#proof-state")).hasText("Does not match");
            assertThat(page.evaluate("localStorage['annals.log.' + '" + project.id() + "']"))
                    .isEqualTo(kept);
        }
    }

    @Test
    void aLogThatHasEndedIsVerifiedAgainOnlyWithTheKeyOfTheNext() throws Exception {
        Project project = log.newProject();
        append(project, RECORD);
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            page.locator("#proof-state").click();
            takeOver(page);
            assertThat(page.locator("#proof-state")).hasText("Verified");
            LogCommands.nextEpoch(TestDatabase.url(), project.id(), false);
            append(project, RECORD);
            assertThat(page.locator("#rows tr")).hasCount(2);
            assertThat(page.locator("#proof-state")).hasText("Not verified");
            assertThat(page.locator("#log-state"))
                    .containsText("/log/1 has ended (a test), and the service goes on with");

            page.reload();
            assertThat(page.locator("#log-state")).containsText("/log/2, of which no key is known here");
            page.locator("#proof-state").click();
            takeOver(page, 2);
            assertThat(page.locator("#proof-state")).hasText("Verified");
            assertThat(mark(page, 2)).hasAttribute("aria-label", "Proved at size 2");
        }
    }

    @Test
    void onlyKeysOfThisLogArePinnedAndWithoutWebCryptoThePageSaysSo() {
        Project project = log.newProject();
        append(project, RECORD);
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            page.locator("#proof-state").click();
            assertThat(page.locator("#offered")).not().isEmpty();
            String vkey = page.locator("#offered").textContent();
            String changed = vkey.replaceFirst("(\\+[0-9a-f]{8}\\+.{10})[^/]", "$1/");
            if (changed.equals(vkey)) {
                changed = vkey.replaceFirst("(\\+[0-9a-f]{8}\\+.{10})/", "$1A");
            }
            for (String[] attempt : new String[][] {
                {"nothing", "this is no key"},
                {changed, "has the id"},
                {
                    "audit.example.org/v1/projects/0197b1c0-5b1c-7cc4-8d5e-3f1d2c4b5a69/log/1+d3a48760"
                            + "+AYKADusw0Y5+WHA2DLm9Qa1n2xT3ZrQ5SS2slPXNRPCA",
                    "and the service shows"
                }
            }) {
                page.fill("#vkey", attempt[0]);
                page.keyboard().press("Enter");
                assertThat(page.locator("#vkey-error")).containsText(attempt[1]);
            }
            page.fill("#vkey", vkey);
            page.keyboard().press("Enter");
            assertThat(page.locator("#pinned code")).hasText(vkey);

            page.addInitScript("Object.defineProperty(crypto, 'subtle', {value: undefined})");
            page.reload();
            openNewest(page);
            assertThat(proof(page)).containsText("this one has no WebCrypto");
        }
    }

    /**
     * An attacker between the service and the browser, who can change answers; at first, he changes nothing. His route is never
     * removed: a request that is sent while routes are set and removed may bypass them.
     */
    private static AtomicReference<UnaryOperator<String>> alter(Page page, String address) {
        AtomicReference<UnaryOperator<String>> change = new AtomicReference<>(UnaryOperator.identity());
        page.route(address, route -> {
            APIResponse answer = route.fetch();
            route.fulfill(new Route.FulfillOptions()
                    .setResponse(answer)
                    .setBody(change.get().apply(answer.text())));
        });
        return change;
    }

    /** The proof with another record in it. */
    private static String withForgedRecord(String proof) {
        Matcher extra = Pattern.compile("extra (\\S+)").matcher(proof);
        return extra.replaceFirst(line -> {
            String record = new String(Base64.getDecoder().decode(line.group(1)), StandardCharsets.UTF_8);
            byte[] forged = record.replace("step_", "step-").getBytes(StandardCharsets.UTF_8);
            return "extra " + Base64.getEncoder().encodeToString(forged);
        });
    }

    private static void takeOver(Page page) {
        takeOver(page, 1);
    }

    /** Pins the key that the service offers, after which so many are pinned. */
    private static void takeOver(Page page, int pinned) {
        page.locator("#take-over").click();
        assertThat(page.locator("#pinned li")).hasCount(pinned);
        assertThat(page.locator("#offer")).isHidden();
        page.locator("#close-proof").click();
    }

    private static void openNewest(Page page) {
        page.locator("#rows tr").first().click();
        assertThat(page.locator("#detail-proof")).isVisible();
    }

    private static Locator proof(Page page) {
        return page.locator("#detail-proof");
    }

    @Override
    void signIn(Page page, Project project) {
        super.signIn(page, project);
        assertThat(page.locator("#rows tr").first()).isVisible();
    }
}
