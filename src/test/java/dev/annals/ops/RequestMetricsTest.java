package dev.annals.ops;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.ManagementPort;
import dev.annals.embedded.TestDatabase;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Whoever calls the service chooses neither the names nor the number of its metrics. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
@Timeout(120)
class RequestMetricsTest {

    private static final Pattern ROUTE = Pattern.compile("(?m)^  (/v1/\\S*):$");
    private static final Pattern URI_LABEL =
            Pattern.compile("http_server_requests_seconds_count\\{[^}]*uri=\"([^\"]*)\"");
    private static final int MADE_UP = 1_000;
    /** Methods, statuses and outcomes of what has one label: not one for each request. */
    private static final int FEW = 50;

    @TestHTTPResource
    URI service;

    @Inject
    MeterRegistry metrics;

    @Test
    void requestsThatNoRouteTakesShareOneSeriesAndARouteStillGetsItsOwn() throws Exception {
        String token = new AuditLogFixture().newProject().token();
        int before = series().size();

        for (int i = 0; i < MADE_UP; i++) {
            String method = i % 3 == 0 ? "M" + i : i % 3 == 1 ? "GET" : "POST";
            String authorization = i % 2 == 0 ? "" : "Authorization: Bearer " + token + "\r\n";
            send(method + " " + madeUp(i) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + authorization
                    + "\r\n");
        }

        assertThat(series()).hasSizeLessThan(before + FEW);
        for (String route : routes()) {
            // HEAD, since the stream does not end; and POST for what has the form of another route otherwise.
            for (String method : List.of("HEAD", "POST")) {
                send(method + " " + route.replaceAll("\\{[^}]*}", "x")
                        + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n"
                        + "Authorization: Bearer " + token + "\r\n\r\n");
            }
        }
        assertThat(labels()).containsAll(routes()).contains("OTHER");
        assertThat(labels()).noneMatch(label -> label.contains("made-up"));
    }

    /** Each way to name what is not there, some of them by bytes that are no text. */
    private static String madeUp(int i) {
        List<String> prefixes = List.of(
                "/made-up-",
                "/v1/made-up/",
                "/v1/project-logs/x/made-up-",
                "/v1/projections/made-up/",
                "//v1//made-up",
                "/q/health/made-up-",
                "/q/made-up-",
                "/\u0085made-up-",
                "/made-up%0a",
                "http://localhost/made-up-",
                "/?made-up=");
        return prefixes.get(i % prefixes.size()) + i;
    }

    private void send(String request) throws IOException {
        try (Socket socket = new Socket(service.getHost(), service.getPort())) {
            socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
            InputStream answer = socket.getInputStream();
            answer.readAllBytes();
        }
    }

    private static List<String> routes() throws IOException {
        return matches(ROUTE, Files.readString(Path.of("openapi.yaml")));
    }

    private static Set<String> labels() {
        return new TreeSet<>(
                matches(URI_LABEL, given().get(ManagementPort.uri("/metrics")).asString()));
    }

    private static List<String> matches(Pattern pattern, String text) {
        return pattern.matcher(text)
                .results()
                .map((MatchResult found) -> found.group(1))
                .toList();
    }

    private List<Meter.Id> series() {
        return metrics.getMeters().stream().map(Meter::getId).toList();
    }
}
