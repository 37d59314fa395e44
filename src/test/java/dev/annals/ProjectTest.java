package dev.annals;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Tests that each have a project of their own, and in the end look at the whole of its feed. */
public abstract class ProjectTest {

    protected final AuditLogFixture log = new AuditLogFixture();
    protected AuditLogFixture.Project project;

    @BeforeEach
    void makeProject() {
        project = log.newProject();
    }

    @AfterEach
    void theFeedIsWhole() throws Exception {
        log.checkFeed(project.id());
    }
}
