package dev.annals.derived.log;

import static dev.annals.AuditLogFixture.LOGS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ProjectTest;
import dev.annals.proof.ProvedRecord;
import io.quarkus.test.junit.QuarkusTest;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** An auditor reads and proves the administration's feed like any other. */
@QuarkusTest
class AuditorTest extends ProjectTest {

    @Test
    void anAuditorFindsWhatWasDoneAndProvesIt() throws Exception {
        UUID annals = UUID.fromString(log.text("select annals.administration()"));
        LogReader auditor = new LogReader(new Project(annals, log.newToken("annals", "audit")));

        String id = auditor.get(LOGS + "?action=annals.project.create&subject=" + project.id())
                .then()
                .statusCode(200)
                .extract()
                .path("results[0].id");
        Await.until(
                "the log has the event",
                () -> auditor.get(LOGS + "/" + id + "/proof").statusCode() == 200);
        ProvedRecord proved = auditor.prove(id);
        assertThat(proved.record().fields().get("metadata"))
                .contains(project.id().toString());

        long size = proved.record().sequenceId();
        auditor.get(LOGS + "?limit=1&cursor=" + (size - 1) + "&proof=" + size)
                .then()
                .statusCode(200);
    }
}
