package dev.annals.core.feed;

import static dev.annals.ProblemAssertions.assertProblem;
import static dev.annals.core.feed.FeedClient.FEED;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.SqlFixture;
import dev.annals.core.feed.FeedClient.Page;
import dev.annals.kernel.connection.RawConnection;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.io.IOException;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * HONEST CURSOR: after an old backup was restored under the running service, a reader that was ahead of it is told so,
 * and never silently loses the records that took the places of those it has read.
 */
@QuarkusTest
class HonestCursorTest {

    @Inject
    AuditLogFixture log;

    @Test
    void aReaderThatWasAheadOfARestoredBackupIsToldSo() throws Exception {
        AuditLogFixture.Project project = log.newProject();
        FeedClient feed = new FeedClient(project);
        feed.append(10);
        Page beforeBackup = feed.page(FEED);
        DatabaseUrl database = TestDatabase.url();
        String backup = "annals_backup_" + UUID.randomUUID().toString().replace("-", "");
        copyDatabase(database, backup);

        feed.append(5);
        Page lost = feed.page(beforeBackup.pollMore());
        assertThat(lost.sequenceIds()).containsExactly(11L, 12L, 13L, 14L, 15L);
        Page lostFiltered = feed.page(FEED + "?action=a");
        Page lostBackwards = feed.page(FEED + "?order=desc&limit=2");
        restore(database, backup);

        List<String> ahead =
                List.of(lost.pollMore(), lostFiltered.pollMore(), lostBackwards.pollMore(), lostBackwards.next());
        for (int written : List.of(0, 4, 1, 1, 300)) {
            if (written > 0) {
                feed.append(written);
            }
            ahead.forEach(link -> assertRewound(project, link));
        }
        List<Long> continued = FeedClient.sequenceIds(feed.walk(beforeBackup.pollMore()));
        assertThat(continued).hasSize(306).first().isEqualTo(11L);
        assertThat(log.checkFeed(project.id())).isEqualTo(316);
    }

    @Test
    void recordsOfAnotherHistoryAreNotServedThoughTheLastOneIsBackAtItsPlace() throws Exception {
        AuditLogFixture.Project project = log.newProject();
        FeedClient feed = new FeedClient(project);
        DatabaseUrl database = TestDatabase.url();
        String backup = "annals_backup_" + UUID.randomUUID().toString().replace("-", "");
        copyDatabase(database, backup);

        String sentAgain = "{\"action\": \"a\", \"id\": \"%s\"}".formatted(UUID.randomUUID());
        feed.append("{\"action\": \"lost\"}", sentAgain);
        for (int i = 0; i < 3; i++) {
            assertThat(feed.page(FEED).actions()).containsExactly("lost", "a");
        }
        restore(database, backup);

        feed.append("{\"action\": \"new\"}", sentAgain);
        assertThat(feed.page(FEED).actions()).containsExactly("new", "a");
        assertThat(log.checkFeed(project.id())).isEqualTo(2);
    }

    /** The check value depends on the mark of the place, and a record that is sent again gets a new mark. */
    @Test
    void aReaderIsToldSoThoughTheRecordThatItReadLastWasSentAgainAndStandsAtItsPlace() throws Exception {
        AuditLogFixture.Project project = log.newProject();
        FeedClient feed = new FeedClient(project);
        feed.append("{\"action\": \"a\"}");
        DatabaseUrl database = TestDatabase.url();
        String backup = "annals_backup_" + UUID.randomUUID().toString().replace("-", "");
        copyDatabase(database, backup);

        String sentAgain = "{\"action\": \"a\", \"id\": \"%s\"}".formatted(UUID.randomUUID());
        String oneOfSeveral = "{\"action\": \"a\", \"id\": \"%s\"}".formatted(UUID.randomUUID());
        feed.append("{\"action\": \"lost\"}");
        feed.append(sentAgain);
        feed.append("{\"action\": \"lost\"}", oneOfSeveral);
        List<String> ahead = List.of(
                feed.page(FEED + "?limit=3").pollMore(),
                feed.page(FEED + "?limit=3").next(),
                feed.page(FEED + "?limit=2&action=a").pollMore(),
                feed.page(FEED + "?order=desc&limit=3").next(),
                feed.page(FEED + "?order=desc").pollMore(),
                feed.page(FEED).pollMore(),
                feed.page(FEED + "?action=a").pollMore());
        restore(database, backup);

        feed.append("{\"action\": \"new\"}");
        feed.append(sentAgain);
        feed.append("{\"action\": \"new\"}", oneOfSeveral);
        assertThat(feed.page(FEED).actions()).containsExactly("a", "new", "a", "new", "a");
        ahead.forEach(link -> assertRewound(project, link));
        assertThat(log.checkFeed(project.id())).isEqualTo(5);
    }

    private static void assertRewound(AuditLogFixture.Project project, String link) {
        assertProblem(project.request().get(link).then().extract(), 409, "feed-rewound");
    }

    private static void copyDatabase(DatabaseUrl source, String name) throws SQLException {
        String sourceName = nameOf(source);
        // PostgreSQL copies only a database without connections, and the service may reconnect at any time.
        for (int attempt = 1; ; attempt++) {
            try {
                SqlFixture.on(source.withDatabase("postgres"))
                        .runEach(
                                "select pg_terminate_backend(pid) from pg_stat_activity where datname = '" + sourceName
                                        + "'",
                                "create database " + name + " template " + sourceName);
                return;
            } catch (SQLException e) {
                if (attempt == 50) {
                    throw e;
                }
            }
        }
    }

    private static void restore(DatabaseUrl database, String backup) throws SQLException {
        String name = nameOf(database);
        SqlFixture.on(database.withDatabase("postgres"))
                .runEach("drop database " + name + " with (force)", "alter database " + backup + " rename to " + name);
        // Another database signs the logs now, which the operator would have to confirm. Later tests use the logs.
        SqlFixture.on(database).run("update annals.merkle_log set halted = null, incarnation = null");
    }

    private static String nameOf(DatabaseUrl url) throws SQLException {
        return SqlFixture.on(url).text("select current_database()");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "x", "-1", "007", "1\r\nAnnals-Sequence-Id: 1"})
    void otherTextsThanASequenceIdAreRefused(String seen) throws IOException {
        try (RawConnection connection = new RawConnection()) {
            assertThat(connection
                            .send("GET " + FEED + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                                    + log.newProject().token() + "\r\nAnnals-Sequence-Id: " + seen + "\r\n\r\n")
                            .answer())
                    .startsWith("HTTP/1.1 400 ")
                    .contains("invalid-parameter");
        }
    }
}
