package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Slow;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.RestAssured;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** A reader with tokens of several projects sees one project at a time, and always its name. */
@Slow
@QuarkusTest
class ViewerProjectsTest extends BrowserTest {

    private static final String SEEN = "{\"action\": \"seen\", \"message\": \"in %s\"}";

    private static final String OTHER = "{\"action\": \"other\", \"message\": \"in %s\"}";

    private Project newProject(String name) {
        Project project = log.newProject("read", "write");
        append(project, SEEN.formatted(name), OTHER.formatted(name));
        return project;
    }

    private static String nameOf(Project project) {
        return project.request()
                .get("/v1/whoami")
                .then()
                .statusCode(200)
                .extract()
                .path("project.name");
    }

    @Test
    void theTokensDescriptionIsShownAsTextAtEveryWidth() {
        Project project = log.newProject();
        String token = given().auth()
                .oauth2(AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body(
                        "{\"scopes\": [\"read\"], \"description\": \"<b>On call</b> of the payments team, who look at night\"}")
                .post("/v1/projects/" + project.id() + "/tokens")
                .then()
                .statusCode(201)
                .extract()
                .path("token");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.navigate(service.toString());
            page.fill("#token", token);
            page.keyboard().press("Enter");
            for (int width : new int[] {1440, 390}) {
                page.setViewportSize(width, 800);
                assertThat(page.locator("#who")).isVisible();
                assertThat(page.locator("#who-name")).containsText("<b>On call</b> of the payments team");
                checkAccess(page);
            }
            page.reload();
            assertThat(page.locator("#who-name")).containsText("On call");
            page.locator("#sign-out").press("Enter");
            assertThat(page.locator("#who")).isHidden();
        }
    }

    @Test
    void projectsAreSwitchedByKeysAndByTheMouseAndTheFiltersStay() {
        Project first = newProject("the first");
        Project second = newProject("the second");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, first);
            Locator shown = page.locator("#project-name");
            assertThat(shown).hasText(nameOf(first));
            assertThat(page).hasTitle(nameOf(first) + " · Annals");
            page.locator("input[name=q]").fill("action:seen");
            page.keyboard().press("Enter");
            assertThat(rows(page)).hasCount(1);
            rows(page).first().click();
            assertThat(page.locator("#detail pre")).isVisible();
            assertThat(page).hasURL(Pattern.compile("#q=action%3Aseen&record=[0-9a-f-]{36}$"));

            // With keys alone: open the list, and give the other token.
            page.keyboard().press("Escape");
            page.keyboard().press("o");
            assertThat(page.locator("#projects-title")).isFocused();
            press(page, "Tab", "Tab");
            assertThat(page.locator("#project-token")).isFocused();
            page.keyboard().type(second.token());
            page.keyboard().press("Enter");
            assertThat(page.locator("#projects-dialog")).isHidden();
            assertThat(shown).hasText(nameOf(second));
            assertThat(rows(page)).hasCount(1);
            assertThat(rows(page)).containsText("in the second");
            assertThat(page.locator("#announce")).hasText("Project " + nameOf(second));
            assertThat(page).hasURL(service + "#q=action%3Aseen&project=" + second.id());

            // With keys alone: choose the first one again.
            page.keyboard().press("o");
            page.keyboard().press("Tab");
            page.locator("#projects-list .choice:not([aria-current=true])").focus();
            Locator focused = page.locator("#projects-list .choice:focus");
            String name = focused.textContent();
            press(page, "ArrowDown", "ArrowUp");
            press(page, name.compareTo(nameOf(second)) < 0 ? "ArrowDown" : "ArrowUp");
            assertThat(focused).hasText(nameOf(second));
            press(page, name.compareTo(nameOf(second)) < 0 ? "ArrowUp" : "ArrowDown", "Enter");
            assertThat(shown).hasText(nameOf(first));
            assertThat(rows(page)).containsText("in the first");
            assertThat(page).hasURL(service + "#q=action%3Aseen&project=" + first.id());

            // With the mouse, and back by the browser's history, each time to the project that was shown there.
            page.locator("#project").click();
            page.locator("#projects-list").getByText(nameOf(second)).click();
            assertThat(rows(page)).containsText("in the second");
            page.getByLabel("Remove the filter Search").click();
            assertThat(rows(page)).hasCount(2);
            page.goBack();
            assertThat(rows(page)).hasCount(1);
            page.goBack();
            assertThat(shown).hasText(nameOf(first));
            assertThat(rows(page)).containsText("in the first");
            page.goForward();
            assertThat(shown).hasText(nameOf(second));
            assertThat(rows(page)).containsText("in the second");

            page.reload();
            assertThat(shown).hasText(nameOf(second));
            assertThat(rows(page)).containsText("in the second");
            append(second, SEEN.formatted("the second, live"));
            assertThat(rows(page).first()).containsText("in the second, live");
            page.locator("#project").click();
            checkAccess(page);
        }
    }

    @Test
    void tokensStayInTheTabAndSigningOutEndsAllOfThem() {
        Project first = newProject("the first");
        Project second = newProject("the second");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, first);
            add(page, second.token());
            assertThat(page.locator("#project-name")).hasText(nameOf(second));
            String kept = page.evaluate("JSON.stringify(sessionStorage)").toString();
            assertThat(kept).contains(first.token(), second.token());
            assertThat(page.evaluate("JSON.stringify(localStorage) + document.cookie + location.href")
                            .toString())
                    .doesNotContain(first.token())
                    .doesNotContain(second.token());

            Page other = page.context().newPage();
            other.navigate(service.toString());
            assertThat(other.locator("#sign-in")).isVisible();
            assertThat(other.locator("#still-open")).isHidden();
            other.close();

            page.locator("#sign-out").click();
            assertThat(page.locator("#token")).isFocused();
            assertThat(page.locator("#still-open")).isHidden();
            assertThat(page.locator("#project")).isHidden();
            assertThat(page).hasTitle("Annals");
            assertThat(page.evaluate("JSON.stringify(sessionStorage)").toString())
                    .doesNotContain("annals_");
            page.reload();
            assertThat(page.locator("#sign-in")).isVisible();
            assertThat(page.locator("#still-open")).isHidden();
        }
    }

    @Test
    void aTokenThatHasEndedLeavesTheOthersOpen() {
        Project first = newProject("the first");
        Project second = newProject("the second");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, first);
            add(page, second.token());
            assertThat(rows(page).first()).containsText("in the second");
            RestAssured.given()
                    .auth()
                    .preemptive()
                    .oauth2(dev.annals.AuditLogFixture.ADMIN_TOKEN)
                    .delete("/v1/projects/" + second.id() + "/tokens/"
                            + second.request().get("/v1/whoami").path("token_id"))
                    .then()
                    .statusCode(204);
            page.reload();
            assertThat(page.locator("#sign-in-error")).containsText("The token is unknown");
            assertThat(rows(page)).hasCount(0);
            checkAccess(page);
            page.reload();
            page.locator("#still-open-list").getByText(nameOf(first)).click();
            assertThat(page.locator("#project-name")).hasText(nameOf(first));
            assertThat(rows(page).first()).containsText("in the first");
        }
    }

    @Test
    void anAddressOfAProjectThatIsNotOpenSaysSoAndShowsNoRecordOfAnother() {
        Project first = newProject("the first");
        Project second = newProject("the second");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.context().grantPermissions(List.of("clipboard-read", "clipboard-write"));
            signIn(page, second);
            rows(page).first().click();
            page.getByText("Copy link").click();
            assertThat(page.getByText("Copied").first()).isVisible();
            String link = page.evaluate("navigator.clipboard.readText()").toString();
            assertThat(link).contains("project=" + second.id());
            page.locator("#sign-out").click();

            signIn(page, first);
            page.navigate(link);
            assertThat(page.locator("#problem-text")).containsText("This address is of another project");
            assertThat(page.locator("#detail")).isHidden();
            assertThat(page.locator("#project-name")).hasText(nameOf(first));
            add(page, "annals_nobody_has_this");
            assertThat(page.locator("#project-error")).containsText("The token is unknown");
            assertThat(page.locator("#project-name")).hasText(nameOf(first));
            assertThat(rows(page).first()).containsText("in the first");
            page.fill("#project-token", second.token());
            page.keyboard().press("Enter");
            assertThat(rows(page).first()).containsText("in the second");
            page.navigate(link);
            assertThat(page.locator("#detail-body")).containsText("in the second");
        }
    }

    @Test
    void amongManyProjectsOneIsFoundByAPartOfItsNameAndATokenIsForgotten() {
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            Project last = newProject("number 0");
            signIn(page, last);
            for (int i = 1; i < 10; i++) {
                last = newProject("number " + i);
                add(page, last.token());
                assertThat(page.locator("#project-name")).hasText(nameOf(last));
            }
            page.keyboard().press("o");
            assertThat(page.locator("#projects-list li")).hasCount(10);
            assertThat(page.locator("#project-find")).isFocused();
            page.keyboard().type("no project has this");
            assertThat(page.locator("#projects-none")).isVisible();
            page.fill("#project-find", nameOf(last));
            assertThat(page.locator("#projects-list li")).hasCount(1);
            page.fill("#project-find", "");
            Locator forget = page.getByLabel(Pattern.compile("^Forget the token of"));
            assertThat(forget).hasCount(9);
            String gone = forget.first().getAttribute("aria-label").substring("Forget the token of ".length());
            forget.first().click();
            assertThat(forget).hasCount(8);
            assertThat(page.locator("#projects-title")).isFocused();
            assertThat(page.locator("#projects-list")).not().containsText(gone);
            page.keyboard().press("Escape");
            assertThat(page.locator("#projects-dialog")).isHidden();
            assertThat(rows(page).first()).containsText("in number 9");
        }
    }

    private static void add(Page page, String token) {
        page.locator("#project").click();
        page.fill("#project-token", token);
        page.keyboard().press("Enter");
    }

    private static Locator rows(Page page) {
        return page.locator("#rows tr");
    }

    private static void press(Page page, String... keys) {
        for (String key : keys) {
            page.keyboard().press(key);
        }
    }
}
