package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.tools.embedded.StandbyPair;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An instance that writes to the primary and reads from a standby shows each client what the client knows to be there. */
@Slow
@TakesLong
@Timeout(300)
class ReadFromStandbyIT {

    private static final String ADMIN = "a-token-for-administration";
    private static final String FEED = "/v1/project-logs";

    @TempDir
    Path directory;

    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private StandbyPair servers;
    private ServiceProcess other;
    private ServiceProcess divided;
    private Project project;

    @BeforeEach
    void startAll() throws Exception {
        servers = StandbyPair.start(directory);
        String primary = servers.primary().url("postgres").withPassword();
        other = start(Map.of("ANNALS_DATABASE_URL", primary));
        project = other.newProject(ADMIN, "read", "write");
        servers.startStandby();
        String standby = servers.standby().url("postgres").withPassword();
        divided = start(Map.of(
                "ANNALS_DATABASE_URL",
                primary,
                // The password is that of the other URL.
                "ANNALS_READ_DATABASE_URL",
                standby.replaceFirst("annals:[^@]*@", "annals@")));
    }

    private static ServiceProcess start(Map<String, String> settings) throws Exception {
        Map<String, String> all = new HashMap<>(settings);
        all.put("ANNALS_ADMIN_TOKEN", ADMIN);
        return ServiceProcess.start(all).awaitListening();
    }

    @AfterEach
    void stopAll() {
        for (ServiceProcess service : new ServiceProcess[] {divided, other}) {
            if (service != null) {
                service.close();
            }
        }
        if (servers != null) {
            servers.close();
        }
    }

    @Test
    void pagesComeFromTheStandbyUnlessTheClientKnowsOfMore() throws Exception {
        append(other, 3);
        servers.awaitReplay();
        SqlFixture.on(servers.standby().url("postgres")).runEach("select pg_wal_replay_pause()");
        append(other, 2);

        // This instance has not learned of the new records.
        for (String query : List.of("", "?action=a", "?order=desc", "?cursor=0", "?q=nothing&cursor=3")) {
            assertThat(records(query, null)).as(query).isEqualTo(query.startsWith("?q") ? 0 : 3);
        }
        // By the client's cursor.
        assertThat(records("?cursor=4", null)).isEqualTo(1);
        assertThat(records("?cursor=5", null)).isZero();
        // By its header.
        for (String query : List.of("", "?action=a", "?order=desc", "?cursor=0", "?wait=1")) {
            assertThat(records(query, "5")).as(query).isEqualTo(5);
        }
        assertThat(records("", "3")).isEqualTo(3);
        assertThat(get(divided, "", "many").statusCode()).isEqualTo(400);
        // An export goes up to the head that it begins with, which is the primary's.
        assertThat(get(divided, "/export", null).body().lines()).hasSize(5);

        // By its own append through this instance.
        append(divided, 1);
        assertThat(records("", null)).isEqualTo(6);
        assertThat(metrics()).contains("annals_feed_reads_total{server=\"standby\"");

        SqlFixture.on(servers.standby().url("postgres")).runEach("select pg_wal_replay_resume()");
        servers.awaitReplay();
        assertThat(records("", "6")).isEqualTo(6);
    }

    @Test
    void aStandbyThatIsFrozenOrGoneIsReadPastAndReadFromAgain() throws Exception {
        servers.awaitReplay();
        try (Clients clients = new Clients(() -> divided.uri(""), project).start(4, 6)) {
            clients.awaitTold(100);
            servers.standby().freeze();
            clients.awaitTold(100);
            Await.until("pages come from the primary", () -> rises("primary"));
            servers.standby().thaw();
            Await.until("pages come from the standby again", () -> rises("standby"));
            clients.awaitTold(100);
            servers.standby().crash();
            clients.awaitTold(100);
            Await.until("pages come from the standby again", () -> rises("standby"));
            clients.awaitTold(100);

            Verdict verdict = clients.end();
            Survived.note("standby that is read from frozen, then killed", clients, verdict);
            assertThat(verdict.isSound()).as("%s; %s", verdict, clients).isTrue();
            assertThat(clients.refusedReads()).as("%s", clients).isZero();
            assertThat(clients.refusedWrites()).as("%s", clients).isZero();
            assertThat(clients.rewound()).as("%s", clients).isZero();
        }
    }

    private boolean rises(String server) throws Exception {
        double before = reads(server);
        records("", null);
        return reads(server) > before;
    }

    private double reads(String server) throws Exception {
        return metrics()
                .lines()
                .filter(line -> line.startsWith("annals_feed_reads_total{server=\"" + server + "\""))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.indexOf(' '))))
                .sum();
    }

    private String metrics() throws Exception {
        HttpRequest asked = HttpRequest.newBuilder(divided.managementUri("/q/metrics"))
                .header("Accept", "text/plain")
                .build();
        return http.send(asked, HttpResponse.BodyHandlers.ofString()).body();
    }

    private void append(ServiceProcess service, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            HttpResponse<String> answer = http.send(
                    request(service, "")
                            .header("Content-Type", "application/json")
                            .POST(HttpRequest.BodyPublishers.ofString("{\"action\": \"a\"}"))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
            assertThat(answer.statusCode()).as(answer.body()).isEqualTo(201);
        }
    }

    private int records(String query, String seen) throws Exception {
        HttpResponse<String> answer = get(divided, query, seen);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        JsonNode page = new ObjectMapper().readTree(answer.body());
        return page.get("results").size();
    }

    private HttpResponse<String> get(ServiceProcess service, String query, String seen) throws Exception {
        HttpRequest.Builder request = request(service, query);
        if (seen != null) {
            request.header("Annals-Sequence-Id", seen);
        }
        return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private HttpRequest.Builder request(ServiceProcess service, String query) {
        return HttpRequest.newBuilder(service.uri(FEED + query)).header("Authorization", "Bearer " + project.token());
    }
}
