package dev.annals.core.feed;

import dev.annals.AuditLogFixture;
import dev.annals.OneByOne;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import jakarta.inject.Inject;
import java.net.URI;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A client that is no trusted proxy cannot choose the address in links. */
@QuarkusTest
@OneByOne
@TestProfile(SmallPages.class)
class UntrustedProxyIT {

    @Inject
    AuditLogFixture log;

    @TestHTTPResource("/")
    URI service;

    @Test
    void forwardedHeadersOfAnybodyElseAreIgnored() throws Exception {
        AuditLogFixture.Project project = log.newProject();
        new FeedClient(project).append(3);

        String own = "http://localhost:" + service.getPort();
        FeedLinksTest.assertLinksBeginWith(
                own,
                project,
                Map.of(
                        "X-Forwarded-Proto",
                        "https",
                        "X-Forwarded-Host",
                        "evil.example.org",
                        "X-Forwarded-Port",
                        "8443",
                        "X-Forwarded-Prefix",
                        "/evil",
                        "X-Forwarded-For",
                        "10.0.0.1"));
        FeedLinksTest.assertLinksBeginWith(
                own, project, Map.of("Forwarded", "for=10.0.0.1;host=evil.example.org;proto=https"));

        FeedLinksTest.assertLinksBeginWith(
                "http://127.0.0.1:" + service.getPort(),
                project,
                Map.of(
                        "Host",
                        "evil.example.org",
                        "X-Forwarded-Host",
                        "evil.example.org",
                        "X-Forwarded-Trusted-Proxy",
                        "true"));

        log.checkFeed(project.id());
    }
}
