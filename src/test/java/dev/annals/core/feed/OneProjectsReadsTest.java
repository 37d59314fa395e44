package dev.annals.core.feed;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.SqlFixture;
import io.quarkus.test.junit.QuarkusTest;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** The searches of one project, however slow, leave the others their pages, and the service its readiness. */
@QuarkusTest
class OneProjectsReadsTest extends FeedTest {

    private static final int SEARCHES = 40;

    @Test
    void searchesThatHangDelayNoOtherProjectNoTokenAndNoReadiness() throws Exception {
        feed.append(3);
        Project known = log.newProject();
        assertThat(status(known, "")).isEqualTo(200);
        ExecutorService threads = Executors.newFixedThreadPool(SEARCHES);
        List<Future<Integer>> searches = new ArrayList<>();
        try {
            try (Connection owner = log.connect()) {
                SqlFixture.execute(owner, "lock table annals.search_block in access exclusive mode");
                for (int i = 0; i < SEARCHES; i++) {
                    String query = "?order=desc&q=-zzz" + i;
                    searches.add(threads.submit(() -> status(project, query)));
                }
                Await.until("searches hang", () -> log.number("""
                        select count(*) from pg_locks where not granted and relation = 'annals.search_block'::regclass
                        """) >= 8);
                assertThat(status(known, "")).isEqualTo(200);
                assertThat(status(log.newProject(), "?order=desc")).isEqualTo(200);
                given().get("/q/health/ready").then().statusCode(200);
                assertThat(searches).as("they hang until the lock is released").noneMatch(Future::isDone);
                owner.rollback();
            }
            for (Future<Integer> search : searches) {
                assertThat(search.get()).isIn(200, 503);
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(log.checkFeed(project.id())).isEqualTo(3);
    }

    private static int status(Project project, String query) {
        return project.wrongRequest().get(FeedClient.FEED + query).statusCode();
    }
}
