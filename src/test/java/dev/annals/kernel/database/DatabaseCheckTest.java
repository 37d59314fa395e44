package dev.annals.kernel.database;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

@QuarkusTest
class DatabaseCheckTest {

    @Inject
    DatabaseCheck check;

    @Inject
    AuditLogFixture log;

    @Test
    void aSoundDatabaseHasNoFindings() {
        assertThat(findings()).isEmpty();
    }

    @Test
    void aRecordThatWasInsertedWithoutTriggersIsFound() throws SQLException {
        UUID project = log.newProject().id();
        try (Connection owner = log.connect()) {
            AuditLogFixture.execute(owner, "set session_replication_role = replica");
            AuditLogFixture.execute(
                    owner,
                    "insert into annals.audit_record (project_id, placed_with, action) values ('" + project
                            + "', gen_random_uuid(), 'without triggers')");
            owner.commit();
            assertThat(findings()).singleElement().asString().contains(project.toString(), "no place in their feed");
            AuditLogFixture.execute(owner, "delete from annals.audit_record where project_id = '" + project + "'");
            owner.commit();
        }
        assertThat(findings()).isEmpty();
    }

    private List<String> findings() {
        return check.findings().await().atMost(Duration.ofSeconds(10));
    }
}
