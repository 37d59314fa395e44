package dev.annals.edges.export;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.PackagedService;
import dev.annals.Slow;
import dev.annals.TakesLong;
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The packaged service with a heap that is smaller than what it exports. */
@Slow
@TakesLong
@Timeout(500)
class ExportIT {

    private static final int RECORDS = 100_000;
    private static final String MESSAGE = "m".repeat(1_000);
    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @TempDir
    Path directory;

    @Test
    void moreThanTheHeapIsExportedInEveryFormatWhileOthersReadNothing() throws Exception {
        try (PackagedService service = new PackagedService(
                directory.resolve("data"),
                "-XX:TieredStopAtLevel=1",
                "-Xmx96m",
                "-XX:+UseSerialGC",
                "-XX:+ExitOnOutOfMemoryError")) {
            append(service);
            HttpResponse<InputStream> unread = export(service, "?format=ocsf");
            for (String format : List.of("ndjson", "csv", "cloudevents", "ocsf")) {
                int lines = 0;
                try (BufferedReader reader = new BufferedReader(new InputStreamReader(
                        export(service, "?format=" + format).body(), UTF_8))) {
                    while (reader.readLine() != null) {
                        lines++;
                    }
                }
                assertThat(lines).as(format).isEqualTo(format.equals("csv") ? RECORDS + 1 : RECORDS);
            }
            assertThat(service.isAlive()).isTrue();
            unread.body().close();
        }
    }

    private static void append(PackagedService service) throws Exception {
        AtomicInteger next = new AtomicInteger();
        Iterable<byte[]> lines = () -> new java.util.Iterator<>() {
            @Override
            public boolean hasNext() {
                return next.get() < RECORDS / 100;
            }

            @Override
            public byte[] next() {
                next.incrementAndGet();
                return ("{\"action\": \"a\", \"message\": \"" + MESSAGE + "\"}\n")
                        .repeat(100)
                        .getBytes(UTF_8);
            }
        };
        HttpResponse<String> answer = HTTP.send(
                request(service, "/import")
                        .header("Content-Type", "application/x-ndjson")
                        .POST(HttpRequest.BodyPublishers.ofByteArrays(lines))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        assertThat(answer.body()).contains("\"stored\":" + RECORDS);
    }

    private static HttpResponse<InputStream> export(PackagedService service, String query) throws Exception {
        HttpResponse<InputStream> answer =
                HTTP.send(request(service, "/export" + query).build(), HttpResponse.BodyHandlers.ofInputStream());
        assertThat(answer.statusCode()).isEqualTo(200);
        return answer;
    }

    private static HttpRequest.Builder request(PackagedService service, String path) {
        return HttpRequest.newBuilder(service.uri().resolve("/v1/project-logs" + path))
                .header("Authorization", "Bearer " + service.token());
    }
}
