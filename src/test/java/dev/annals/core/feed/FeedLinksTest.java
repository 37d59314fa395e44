package dev.annals.core.feed;

import static dev.annals.core.feed.FeedClient.FEED;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Links begin with the address that the client used. The tests' requests come from the loopback address, as from a trusted proxy. */
@QuarkusTest
@SuppressWarnings("OrphanedFormatString") // queries are percent-encoded
class FeedLinksTest extends FeedTest {

    @TestHTTPResource("/")
    URI service;

    @BeforeEach
    void writeThreeRecords() {
        feed.append(3);
    }

    @AfterEach
    void nothingIsAdded() throws Exception {
        assertThat(log.checkFeed(project.id())).isEqualTo(3);
    }

    @Test
    void linksBeginWithTheLoopbackThatTheRequestWasSentTo() {
        assertLinksBeginWith("http://localhost:" + service.getPort(), Map.of());
        assertLinksBeginWith("http://localhost:1234", Map.of("Host", "localhost:1234"));
        assertLinksBeginWith("http://127.0.0.9", Map.of("Host", "127.0.0.9"));
        assertLinksBeginWith("http://[::1]:8080", Map.of("Host", "[::1]:8080"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "evil.example.org",
                "evil.example.org:443",
                "localhost.example.org",
                "127.0.0.1.example.org",
                "1270.0.0.1",
                "x127.0.0.1",
                "[2001:db8::1]:8080"
            })
    void anUnknownHostNeverComesBackInALink(String host) {
        String own = "http://127.0.0.1:" + service.getPort();
        assertLinksBeginWith(own, Map.of("Host", host));
        assertLinksBeginWith(own, Map.of("Host", host, "X-Forwarded-Host", " "));
        assertThat(project.wrongRequest()
                        .header("Host", host)
                        .get(FEED + "/export")
                        .header("Link"))
                .startsWith("<" + own + FEED);
    }

    @Test
    void linksBeginWithWhatATrustedProxySays() {
        assertLinksBeginWith(
                "https://audit.example.org",
                Map.of("X-Forwarded-Proto", "https", "X-Forwarded-Host", "audit.example.org"));
        assertLinksBeginWith(
                "https://audit.example.org:8443",
                Map.of(
                        "X-Forwarded-Proto",
                        "https",
                        "X-Forwarded-Host",
                        "audit.example.org",
                        "X-Forwarded-Port",
                        "8443"));
        assertLinksBeginWith(
                "https://audit.example.org/logs",
                Map.of(
                        "X-Forwarded-Proto",
                        "https",
                        "X-Forwarded-Host",
                        "audit.example.org",
                        "X-Forwarded-Prefix",
                        "/logs",
                        "X-Forwarded-For",
                        "198.51.100.7"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "X-Forwarded-Proto|javascript",
                "X-Forwarded-Proto|HTTPS,http",
                "X-Forwarded-Proto|ht tps",
                "X-Forwarded-Proto|''",
                "X-Forwarded-Host|evil example.org",
                "X-Forwarded-Host|evil.example.org,audit.example.org",
                "X-Forwarded-Host|evil.example.org/x",
                "X-Forwarded-Host|x@evil.example.org",
                "X-Forwarded-Host|evil.example.org:0",
                "X-Forwarded-Host|evil.example.org:65536",
                "X-Forwarded-Host|'[::1'",
                "X-Forwarded-Port|many",
                "X-Forwarded-Port|65536",
                "X-Forwarded-Port|80,81",
                "X-Forwarded-Prefix|/a b",
                "X-Forwarded-Prefix|/a?b",
                "X-Forwarded-Prefix|/a,/b",
                "X-Forwarded-Prefix|/../b",
                "X-Forwarded-Prefix|//b",
            })
    void aMalformedHeaderBeginsNoLink(String name, String value) {
        String own = "http://localhost:" + service.getPort();
        assertLinksBeginWith(own, Map.of(name, value));
    }

    @Test
    void theCaseOfTheSchemeDoesNotMatter() {
        assertLinksBeginWith(
                "https://audit.example.org:80",
                Map.of("X-Forwarded-Proto", "HTTPS", "X-Forwarded-Host", "audit.example.org:80"));
        assertLinksBeginWith(
                "https://audit.example.org/logs/v2",
                Map.of(
                        "X-Forwarded-Proto",
                        "https",
                        "X-Forwarded-Host",
                        "audit.example.org:443",
                        "X-Forwarded-Prefix",
                        "logs/v2/"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "X-Forwarded-Host: a b",
                "X-Forwarded-Host: <script>",
                "X-Forwarded-Host: [::",
                "X-Forwarded-Host: x:y",
                "X-Forwarded-Host: ",
                "X-Forwarded-Proto: java script",
                "X-Forwarded-Proto: ",
                "X-Forwarded-Port: many",
                "X-Forwarded-Port: -7",
                "X-Forwarded-Prefix: <x y>",
                "X-Forwarded-For: nobody's",
                "Host: a b",
                "Host: localhost@evil.example.org",
                "Host: <script>alert(1)</script>",
                "Host: [::1",
                "Host: x:y",
                "Host: x:99999",
                "Host: ",
                "Host: \"",
                "Host: ü"
            })
    void aHeaderThatMakesNoUrlIsNoFaultOfTheService(String header) throws IOException {
        String host = header.startsWith("Host:") ? "" : "Host: x\r\n";
        String answer = exchange("GET " + FEED + "?limit=1 HTTP/1.1\r\n" + host + header + "\r\nAuthorization: Bearer "
                + project.token() + "\r\nConnection: close\r\n\r\n");
        assertThat(answer)
                .matches("(?s)HTTP/1.1 (200|400) .*")
                .doesNotContain("Exception")
                .doesNotContain("<script>");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "action=%zz",
                "action=%",
                "action=%C3",
                "action=%ED%A0%80",
                "=x",
                "&",
                "limit",
                "%00=1",
                "action=<b>",
                "?",
                "#"
            })
    void aQueryThatIsHalfReadableIsNoFaultOfTheService(String query) throws IOException {
        String answer = exchange("GET " + FEED + "?" + query + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                + project.token() + "\r\nConnection: close\r\n\r\n");
        assertThat(answer).matches("(?s)HTTP/1.1 (200|400) .*").doesNotContain("Exception");
    }

    @Test
    void aRecordForWhichNoUrlCanBeMadeIsNotStored() throws IOException {
        String answer = exchange(
                "POST " + FEED + " HTTP/1.1\r\nHost: [::1\r\nAuthorization: Bearer " + project.token()
                        + "\r\nContent-Type: application/json\r\nContent-Length: 15\r\nConnection: close\r\n\r\n{\"action\": \"a\"}");
        assertThat(answer).startsWith("HTTP/1.1 400 ").contains("application/problem+json");
    }

    @Test
    void aRequestOfHttp10WithoutAHostIsServed() throws IOException {
        String answer = exchange("GET " + FEED + " HTTP/1.0\r\nAuthorization: Bearer " + project.token() + "\r\n\r\n");
        assertThat(answer).matches("(?s)HTTP/1.[01] (200|400) .*");
    }

    private void assertLinksBeginWith(String base, Map<String, String> headers) {
        assertLinksBeginWith(base, project, headers);
    }

    static void assertLinksBeginWith(String base, AuditLogFixture.Project project, Map<String, String> headers) {
        ExtractableResponse<Response> page = with(project, headers)
                .get(FEED + "?limit=1&action=a")
                .then()
                .statusCode(200)
                .extract();
        String expected = base + FEED + "?cursor=";
        for (String link : List.of(page.<String>path("next"), page.<String>path("poll_more"))) {
            assertThat(link).startsWith(expected).endsWith("&limit=1&action=a");
        }
        assertThat(page.header("Link")).startsWith("<" + expected).contains(", <" + expected);
        // a retry stores nothing
        String record = "{\"id\": \"" + page.path("results[0].id") + "\", \"action\": \"a\"}";
        assertThat(with(project, headers)
                        .contentType("application/json")
                        .body(record)
                        .post(FEED)
                        .then()
                        .statusCode(200)
                        .extract()
                        .header("Location"))
                .isEqualTo(base + FEED + "/" + page.path("results[0].id"));
    }

    private static RequestSpecification with(AuditLogFixture.Project project, Map<String, String> headers) {
        return project.wrongRequest().headers(headers);
    }

    private String exchange(String request) throws IOException {
        try (Socket socket = new Socket(service.getHost(), service.getPort())) {
            socket.setSoTimeout(10_000);
            socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
            socket.getOutputStream().flush();
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
