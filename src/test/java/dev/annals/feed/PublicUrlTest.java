package dev.annals.feed;

import dev.annals.AuditLogFixture;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.QuarkusTestProfile;
import io.quarkus.test.junit.TestProfile;
import jakarta.inject.Inject;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** With {@code ANNALS_PUBLIC_URL} every link begins with it. */
@QuarkusTest
@TestProfile(PublicUrlTest.WithPublicUrl.class)
class PublicUrlTest {

    /** The service under a public URL. */
    public static class WithPublicUrl implements QuarkusTestProfile {
        @Override
        public Map<String, String> getConfigOverrides() {
            return Map.of("annals.public-url", "https://audit.example.org/logs/");
        }
    }

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
