package dev.annals.core.feed;

import static dev.annals.core.feed.FeedClient.FEED;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.Load;
import dev.annals.NothingByItself;
import dev.annals.OneByOne;
import dev.annals.ProjectTest;
import dev.annals.kernel.memory.MemoryBudget;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import io.restassured.response.Response;
import jakarta.inject.Inject;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Pages count as memory until slow clients have read them. */
@QuarkusTest
@OneByOne
@TestProfile(NothingByItself.class)
@Timeout(120)
class SlowReadersIT extends ProjectTest {

    @Inject
    MemoryBudget memory;

    @TestHTTPResource("/")
    URI service;

    @Test
    void aClientThatTakesNothingOfItsPageHoldsItsMemoryForAWhileAndDisturbsNoOtherProject() throws Exception {
        writeLarge(project);
        Project other = log.newProject();
        writeLarge(other);
        List<Socket> lazy = new ArrayList<>();
        try {
            for (int i = 0; i < 3; i++) {
                lazy.add(ask(project, "?limit=1000"));
            }
            Await.until("pages are held", () -> memory.held() > 3_000_000);
            assertThat(memory.held()).isLessThanOrEqualTo(memory.limit());
            other.request().get(FEED + "?limit=1000").then().statusCode(200);
            // The service drops each slow client in turn, the next one gets a page, and at the end no memory is held.
            Await.until("nothing is held", () -> memory.held() == 0);
        } finally {
            for (Socket socket : lazy) {
                socket.close();
            }
        }
        project.request().get(FEED + "?limit=1000").then().statusCode(200);
        assertThat(log.checkFeed(project.id())).isEqualTo(200);
    }

    @Test
    void aClientThatGoesAwayGivesItsMemoryBack() throws Exception {
        writeLarge(project);
        for (int i = 0; i < Load.times(16, 40); i++) {
            ask(project, i % 2 == 0 ? "?limit=1000" : "?limit=1000&order=desc").close();
        }
        Await.until("nothing is held", () -> memory.held() == 0);
        project.request().get(FEED).then().statusCode(200);
    }

    @Test
    void pagesOfLargeRecordsInParallelAreServedInTurnOrRefusedWithAProblem() throws Exception {
        writeLarge(project);
        ExecutorService readers = Executors.newFixedThreadPool(16);
        try {
            List<Future<Integer>> answers = new ArrayList<>();
            for (int i = 0; i < Load.times(18, 48); i++) {
                answers.add(readers.submit(() -> {
                    Response answer = project.request().get(FEED + "?limit=1000");
                    if (answer.statusCode() == 503) {
                        assertThat(answer.header("Retry-After")).isNotNull();
                        assertThat(answer.<String>path("type")).isEqualTo("urn:annals:problem:overloaded");
                    }
                    assertThat(memory.held()).isLessThanOrEqualTo(memory.limit());
                    return answer.statusCode();
                }));
            }
            for (Future<Integer> answer : answers) {
                assertThat(answer.get()).isIn(200, 503);
            }
            assertThat(answers.get(0).get()).isEqualTo(200);
        } finally {
            readers.shutdownNow();
        }
        Await.until("nothing is held", () -> memory.held() == 0);
    }

    @Test
    void aStreamThatIsNotReadHoldsMemoryUntilItIsClosed() throws Exception {
        writeLarge(project);
        try (Socket lazy = ask(project, "/stream?limit=1000")) {
            Await.until("pages are held", () -> memory.held() > 0);
            assertThat(lazy.getInputStream().read()).isEqualTo('H');
        }
        Await.until("nothing is held", () -> memory.held() == 0);
    }

    @Test
    void theHeadOfALargePageHasNoBody() throws Exception {
        writeLarge(project);
        try (Socket socket = send("HEAD", project, "?limit=1000", "Connection: close\r\n")) {
            String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
            assertThat(answer)
                    .startsWith("HTTP/1.1 200")
                    .endsWith("\r\n\r\n")
                    .containsIgnoringCase("content-length: 4");
        }
        Await.until("nothing is held", () -> memory.held() == 0);
    }

    private Socket ask(Project of, String query, String... headers) throws IOException {
        return send("GET", of, query, headers);
    }

    private Socket send(String method, Project of, String query, String... headers) throws IOException {
        Socket socket = new Socket();
        socket.setReceiveBufferSize(4096);
        socket.connect(new InetSocketAddress(service.getHost(), service.getPort()));
        String request = method + " " + FEED + query + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                + of.token() + "\r\n" + String.join("", headers) + "\r\n";
        socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
        return socket;
    }

    private void writeLarge(Project of) throws SQLException {
        try (Connection connection = log.connect();
                PreparedStatement insert =
                        connection.prepareStatement("insert into annals.audit_record (project_id, action, message)"
                                + " select ?, 'large', repeat('x', 65000) from generate_series(1, 200)")) {
            insert.setObject(1, of.id());
            insert.executeUpdate();
            connection.commit();
        }
    }
}
