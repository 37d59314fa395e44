package dev.annals.tools.ops;

import static io.restassured.RestAssured.given;
import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.ManagementPort;
import dev.annals.tools.embedded.TestDatabase;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.swagger.v3.oas.models.PathItem.HttpMethod;
import io.swagger.v3.oas.models.Paths;
import io.swagger.v3.parser.OpenAPIV3Parser;
import jakarta.inject.Inject;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Callers cannot choose the names or the number of metrics. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
@Timeout(120)
class RequestMetricsTest {

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
        Paths routes = new OpenAPIV3Parser().read("openapi.yaml").getPaths();
        for (String route : routes.keySet()) {
            for (HttpMethod method : routes.get(route).readOperationsMap().keySet()) {
                // HEAD, since the stream does not end.
                send((method == HttpMethod.GET ? "HEAD" : method) + " " + route.replaceAll("\\{[^}]*}", "x")
                        + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n"
                        + "Authorization: Bearer " + token + "\r\n\r\n");
            }
        }
        labels(); // the first scrape is in the second one
        assertThat(labels())
                .containsAll(routes.keySet())
                .contains("OTHER", "/q/metrics")
                .noneMatch(label -> label.contains("made-up"));
    }

    /** Each way to name what is not there, some of them by bytes that are no text. */
    private static String madeUp(int i) {
        List<String> prefixes = List.of(
                "/made-up-",
                "/v1/made-up/",
                "/v1/streams/made-up-",
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

    private static Set<String> labels() {
        return URI_LABEL
                .matcher(given().get(ManagementPort.uri("/metrics")).asString())
                .results()
                .map((MatchResult found) -> found.group(1))
                .collect(toSet());
    }

    private List<Meter.Id> series() {
        return metrics.getMeters().stream().map(Meter::getId).toList();
    }
}
