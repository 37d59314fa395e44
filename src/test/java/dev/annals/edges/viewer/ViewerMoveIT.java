package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Locator;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.tools.embedded.TestDatabase;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The page of a project shows its database, and its move. */
@Slow
@Timeout(180)
class ViewerMoveIT {

    private static final String ADMIN = "a-token-for-administration";

    private final SqlFixture home = SqlFixture.ofTheSchemaAlone();
    private final SqlFixture east = SqlFixture.on(TestDatabase.createDatabase());

    private static HttpResponse<String> send(URI uri, String method, String body) throws Exception {
        return HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(uri)
                                .header("Authorization", "Bearer " + ADMIN)
                                .header("Content-Type", "application/json")
                                .method(method, HttpRequest.BodyPublishers.ofString(body))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
    }

    @Test
    void aProjectsPageShowsWhereItIsAndHowFarItHasMoved() throws Exception {
        try (ServiceProcess service = ServiceProcess.start(Map.of(
                                "ANNALS_DATABASE_URL",
                                home.database().withPassword(),
                                "ANNALS_DATABASES",
                                "main,east",
                                "ANNALS_DATABASES_EAST_URL",
                                east.database().withPassword(),
                                "ANNALS_ADMIN_TOKEN",
                                ADMIN))
                        .awaitListening();
                Chromium chromium = Chromium.start();
                Connection writer = home.connect()) {
            send(service.uri("/v1/projects"), "POST", "{\"name\": \"moved\", \"database\": \"main\"}");
            home.run(
                    "insert into annals.audit_record (project_id, action) select id, 'a' from annals.project where name = 'moved'",
                    "insert into annals.sequence (id, project_id, name, kind, start, max_value, batch_size, low_water_mark, next_value)"
                            + " select id, id, 'numbers', 'SYNCHRONOUS', 1, 1000, 1, 0, 1 from annals.project where name = 'moved'");
            // The seal waits for it.
            SqlFixture.execute(writer, "select from annals.sequence for update");
            URI move = service.uri("/v1/projects/moved/move");
            Await.until(
                    "it is moving",
                    () -> send(move, "POST", "{\"database\": \"east\"}").statusCode() == 202);
            Await.until(
                    "its record is copied", () -> send(move, "GET", "").body().contains("\"copied\":1"));

            try (Chromium.Guarded guarded = chromium.open(new Browser.NewContextOptions(), service.uri("/"))) {
                guarded.page.navigate(service.uri("/").toString());
                guarded.page.fill("#token", ADMIN);
                guarded.page.keyboard().press("Enter");
                assertThat(guarded.page.locator("#administration")).isVisible();
                guarded.page.navigate(service.uri("/admin.html#projects/moved").toString());
                Locator facts = guarded.page.locator("#area p.note").first();
                assertThat(facts).containsText("in main · moving from main to east: copying, 1 of 1 records copied");
                writer.rollback();
                Await.until("it has moved", () -> send(move, "GET", "").body().contains("\"moved\""));
                guarded.page.reload();
                assertThat(facts).containsText("in east");
                assertThat(facts).not().containsText("moving");
            }
        }
    }
}
