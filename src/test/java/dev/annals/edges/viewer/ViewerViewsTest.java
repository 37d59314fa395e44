package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.ColorScheme;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Slow;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Readers share the views of their project, and see the names of recorders. */
@Slow
@QuarkusTest
class ViewerViewsTest extends BrowserTest {

    private static final String NAME = "<b>Refused; 100% of \u00e9";

    @Test
    void aSavedViewIsOpenedByAnotherReaderAndOnlyItsScopeRemovesIt() throws Exception {
        Project project = log.newProject("read", "write", "stream");
        append(
                project,
                "{\"action\": \"login\", \"outcome\": \"denied\"}",
                "{\"action\": \"login\"}",
                "{\"action\": \"other\"}");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            page.navigate(service + "#action=login&q=outcome%3Adenied&last=24h&columns=time,action,outcome,metadata.x");
            assertThat(page.locator("#rows tr")).hasCount(1);
            save(page, NAME, true);
            assertThat(page.locator("#view-title")).hasText(NAME);
            // Only here.
            save(page, "mine", false);
            page.locator("#views").press("Enter");
            assertThat(page.locator("#shared-list a")).hasText(new String[] {NAME});
            assertThat(page.locator("#views-list a")).hasText(new String[] {"mine"});
            checkAccess(page);
        }
        String reader = log.newToken(project.id(), "read");
        for (int width : new int[] {1440, 390}) {
            try (Guarded guarded = chromium.open(
                    new Browser.NewContextOptions().setViewportSize(width, 800).setColorScheme(ColorScheme.DARK),
                    service)) {
                Page page = guarded.page;
                signIn(page, new Project(project.id(), reader));
                assertThat(page.locator("#rows tr")).hasCount(3);
                page.locator("#views").press("Enter");
                assertThat(page.locator("#shared-list a")).hasText(new String[] {NAME});
                assertThat(page.locator("#share-view")).isHidden();
                assertThat(page.locator("#shared-list button")).hasCount(0);
                checkAccess(page);
                page.locator("#shared-list a").press("Enter");
                assertThat(page.locator("#view-title")).hasText(NAME);
                assertThat(page.locator("#rows tr")).hasCount(1);
                assertThat(page.locator("#range-text")).hasText("Last 24 hours");
                assertThat(page.locator("#heads th")).hasCount(4);
            }
        }
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            page.locator("#views").press("Enter");
            page.getByLabel("Remove the view " + NAME).press("Enter");
            assertThat(page.locator("#shared-list li")).hasCount(0);
            assertThat(page.locator("#views-title")).isFocused();
            page.locator("#close-views").press("Enter");
            save(page, ".hidden", true);
            assertThat(page.locator("#view-error")).containsText("does not begin with a dot");
        }
        log.checkFeed(project.id());
    }

    private static void save(Page page, String name, boolean shared) {
        page.locator("#views").press("Enter");
        page.locator("#view-name").fill(name);
        if (shared != page.locator("#share-view").isChecked()) {
            page.locator("#share-view").press("Space");
        }
        page.locator("#view-name").press("Enter");
    }

    @Test
    void theDescriptionOfATokenIsShownInPlaceOfItsIdAndNeverToALink() throws Exception {
        Project project = log.newProject("read", "link");
        String writer = given().auth()
                .oauth2(AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body("{\"scopes\": [\"write\"], \"description\": \"<b>Shop</b> backend\"}")
                .post("/v1/projects/" + project.id() + "/tokens")
                .path("token");
        append(new Project(project.id(), writer), "{\"action\": \"a\", \"subject\": {\"id\": \"s-1\"}}");
        for (int width : new int[] {1440, 390}) {
            try (Guarded guarded =
                    chromium.open(new Browser.NewContextOptions().setViewportSize(width, 800), service)) {
                Page page = guarded.page;
                List<String> asked = new ArrayList<>();
                page.onRequest(request -> {
                    if (request.url().contains("/v1/recorders")) {
                        asked.add(request.url());
                    }
                });
                signIn(page, project);
                page.navigate(service + "#columns=time,action,recorded_by");
                assertThat(page.locator("#rows td.recorded_by")).hasText("<b>Shop</b> backend");
                page.locator("#values").press("Enter");
                assertThat(page.locator("#facet-recorded_by + ul bdi")).hasText("<b>Shop</b> backend");
                page.locator("#rows a").press("Enter");
                assertThat(page.locator("#detail [data-recorder]")).hasText("<b>Shop</b> backend");
                assertThat(page.locator("#detail .id")).containsText("token:");
                checkAccess(page);
                page.locator("#detail").getByLabel("Only this Recorded by").press("Enter");
                assertThat(page.locator("#chips")).containsText("<b>Shop</b> backend");
                assertThat(asked).hasSize(1);
            }
        }
        String link = project.request()
                .contentType("application/json")
                .body("{\"subject_id\": \"s-1\"}")
                .post("/v1/viewer-links")
                .path("url");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.onRequest(request ->
                    assertThat(request.url()).doesNotContain("/v1/recorders").doesNotContain("/v1/views"));
            page.navigate(service + link.substring(link.indexOf('#')) + "&columns=time,action,recorded_by");
            assertThat(page.locator("#rows td.recorded_by")).containsText("token:");
            page.locator("#views").press("Enter");
            assertThat(page.locator("#views-dialog")).isVisible();
            assertThat(page.locator("#views-shared")).isHidden();
            assertThat(page.locator("#who")).isHidden();
        }
        log.checkFeed(project.id());
    }
}
