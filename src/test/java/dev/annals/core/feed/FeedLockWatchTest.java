package dev.annals.core.feed;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.ManagementPort;
import dev.annals.kernel.database.Databases;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Metrics show a transaction that keeps the lock of a feed. */
@QuarkusTest
@Timeout(120)
class FeedLockWatchTest {

    @Inject
    AuditLogFixture log;

    @Inject
    FeedLockWatch watch;

    @Inject
    Databases databases;

    @Test
    void aCommitThatWaitsForItsFeedShowsInTheMetricUntilItIsThrough() throws Exception {
        UUID project = log.newProject().id();
        assertThat(look()).isZero();
        try (Connection holder = log.connect()) {
            AuditLogFixture.lockFeed(holder, project);
            CompletableFuture<Void> commit = CompletableFuture.runAsync(() -> append(project));
            double seen = 0;
            for (int i = 0; i < 100_000 && seen == 0; i++) {
                seen = look();
            }
            assertThat(seen).isPositive();
            assertThat(look()).isGreaterThan(seen);
            assertThat(given().get(ManagementPort.uri("/metrics")).asString())
                    .contains("annals_feed_lock_wait_seconds");
            holder.rollback();
            commit.get(60, TimeUnit.SECONDS);
        }
        assertThat(look()).isZero();
        assertThat(log.checkFeed(project)).isEqualTo(1);
    }

    private double look() {
        return watch.look(databases.home()).await().indefinitely();
    }

    private void append(UUID project) {
        try (Connection writer = log.connectAsWriter()) {
            AuditLogFixture.insert(writer, project, "waits");
            writer.commit();
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }
}
