package dev.annals.core.feed;

import dev.annals.AuditLogFixture;
import dev.annals.OneByOne;
import dev.annals.core.append.ShortQueue;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import jakarta.inject.Inject;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** With {@code ANNALS_PUBLIC_URL} every link begins with it. */
@QuarkusTest
@OneByOne
@TestProfile(ShortQueue.class)
class PublicUrlIT {

    @Inject
    AuditLogFixture log;

    @Test
    void linksBeginWithThePublicUrlWhateverTheRequestSays() throws Exception {
        AuditLogFixture.Project project = log.newProject();
        new FeedClient(project).append(3);

        String base = "https://audit.example.org/logs";
        FeedLinksTest.assertLinksBeginWith(base, project, Map.of());
        FeedLinksTest.assertLinksBeginWith(base, project, Map.of("Host", "elsewhere:1"));
        FeedLinksTest.assertLinksBeginWith(
                base, project, Map.of("X-Forwarded-Proto", "http", "X-Forwarded-Host", "elsewhere"));

        log.checkFeed(project.id());
    }
}
