package dev.annals.core.feed;

import static dev.annals.core.feed.FeedClient.FEED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.Load;
import dev.annals.OneByOne;
import dev.annals.core.feed.FeedClient.Page;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import jakarta.inject.Inject;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Long polls and streams deliver each record of the feed once, in order, at once. */
@QuarkusTest
@OneByOne
@TestProfile(LiveLimits.class)
@Timeout(120)
class LiveFeedIT extends FeedTest {

    private static final String STREAM = FEED + "/stream";

    @Inject
    MeterRegistry metrics;

    @TestHTTPResource("/")
    URI service;

    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void noClientIsLeftWaiting() throws Exception {
        threads.shutdownNow();
        until(() -> gauge("annals.live.waits") == 0 && gauge("annals.live.streams") == 0);
    }

    @Test
    void readersByPollWaitAndStreamHaveEveryRecordOnceAndInOrderThoughTheirConnectionsAreCut() throws Exception {
        FeedLoad load = FeedLoad.live(log, service);
        load.run(
                () -> load.committedRecords() >= Load.times(1_500, 10_000)
                        && load.cuts().stream().allMatch(cuts -> cuts > 0),
                () -> {});
        load.checkReaders();
    }

    @Test
    void anAppendAnswersTheWaitsOfItsInstanceWithoutAReadOfHeads() throws Exception {
        String end = feed.page(FEED).pollMore();
        Future<Page> waiting = waiting(end + "&wait=60");
        feed.append(1);
        assertThat(waiting.get(20, TimeUnit.SECONDS).sequenceIds()).containsExactly(1L);
    }

    @Test
    void aWaitIsAnsweredByAPlainSqlWriterAndPassesOverWhatTheFilterHolds() throws Exception {
        Future<Page> any = waiting(FEED + "?wait=60");
        Future<Page> filtered = waiting(FEED + "?wait=60&action=b");
        insert(project, "a", 1);
        assertThat(any.get(20, TimeUnit.SECONDS).sequenceIds()).containsExactly(1L);
        // Also more than a page scans.
        insert(project, "a", 2 * LiveLimits.SCAN_LIMIT + 10);
        assertThat(filtered).isNotDone();
        insert(project, "b", 1);
        assertThat(filtered.get(20, TimeUnit.SECONDS).sequenceIds()).containsExactly(52L);
    }

    @Test
    void aWaitWithoutARecordEndsEmptyAndItsPollMoreWaitsAgain() {
        feed.append(1);
        Page page = feed.page(FEED);
        Page empty = feed.page(page.pollMore() + "&wait=1");
        assertThat(empty.records()).isEmpty();
        assertThat(empty.next()).isNull();
        assertThat(empty.pollMore()).isEqualTo(page.pollMore() + "&wait=1");
        feed.append(2);
        Page more = feed.page(empty.pollMore() + "&limit=1");
        assertThat(more.sequenceIds()).containsExactly(2L);
        assertThat(more.next()).doesNotContain("wait");
    }

    @Test
    void aFilteredWaitThatEndsEmptyHasMovedOn() {
        feed.append(3);
        Page empty = feed.page(FEED + "?action=b&wait=1");
        assertThat(empty.records()).isEmpty();
        assertThat(empty.pollMore()).contains("cursor=3-").contains("&wait=1");
    }

    @ParameterizedTest
    @ValueSource(strings = {FEED, STREAM})
    void aWaitThatCannotBeUsedIsRefused(String path) {
        for (String query : List.of(
                "wait=0",
                "wait=61",
                "wait=3600",
                "wait=-1",
                "wait=x",
                "wait=",
                "wait=1.5",
                "wait=99999999999",
                "wait=1&wait=1",
                "wait=1&order=desc")) {
            ExtractableResponse<Response> answer = project.wrongRequest()
                    .get(path + "?" + query)
                    .then()
                    .statusCode(400)
                    .extract();
            assertThat(answer.<String>path("type")).as(query).isEqualTo("urn:annals:problem:invalid-parameter");
            // A stream has no parameter order.
            String wrong = path.equals(STREAM) && query.contains("order") ? "order" : "wait";
            assertThat(answer.<String>path("parameter")).as(query).isEqualTo(wrong);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "order=desc,, 400, invalid-parameter",
        "limit=0,, 400, invalid-parameter",
        "colour=red,, 400, invalid-parameter",
        "cursor=garbage, 1, 400, invalid-cursor",
        "cursor=1, garbage, 400, invalid-cursor",
        "cursor=7,, 409, feed-rewound",
        "cursor=1, 7, 409, feed-rewound",
        "cursor=1, 1-00000000, 409, feed-rewound",
    })
    void aStreamThatCannotBeOpenedIsAProblem(String query, String lastEventId, int status, String slug) {
        feed.append(1);
        var request = project.wrongRequest();
        if (lastEventId != null) {
            request.header("Last-Event-ID", lastEventId);
        }
        ExtractableResponse<Response> answer =
                request.get(STREAM + "?" + query).then().statusCode(status).extract();
        assertThat(answer.<String>path("type")).isEqualTo("urn:annals:problem:" + slug);
    }

    @Test
    void headTellsThatThereIsAStreamAndEnds() throws Exception {
        HttpRequest head = request("")
                .method("HEAD", HttpRequest.BodyPublishers.noBody())
                .timeout(Duration.ofSeconds(20))
                .build();
        assertThat(http.send(head, HttpResponse.BodyHandlers.ofString())
                        .headers()
                        .firstValue("Content-Type"))
                .contains("text/event-stream");
    }

    @Test
    void aWaitAtACursorThatTheFeedDoesNotHaveIsAProblemAtOnce() {
        feed.append(1);
        project.wrongRequest().get(FEED + "?wait=60&cursor=7").then().statusCode(409);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "/v1/project-logs | */* | application/json",
                "/v1/project-logs | text/event-stream, application/*;q=0.1 | application/json",
                "/v1/project-logs/stream | */* | text/event-stream",
                "/v1/project-logs/stream | application/json, text/* | text/event-stream",
            })
    void aPageIsJsonAndAStreamIsEvents(String path, String accept, String expected) throws Exception {
        HttpRequest request = request("")
                .uri(service.resolve(path))
                .setHeader("Accept", accept)
                .build();
        HttpURLConnection connection = (HttpURLConnection) request.uri().toURL().openConnection();
        request.headers()
                .map()
                .forEach((name, values) -> values.forEach(value -> connection.addRequestProperty(name, value)));
        try {
            assertThat(connection.getResponseCode()).isEqualTo(200);
            assertThat(connection.getContentType()).isEqualTo(expected);
        } finally {
            connection.disconnect();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "/v1/project-logs, text/event-stream, /v1/project-logs/stream",
        "/v1/project-logs, text/html, application/json",
        "/v1/project-logs/stream, application/json, /v1/project-logs",
        "/v1/project-logs/stream, text/html, text/event-stream",
    })
    void aRefusalOfAMediaTypeNamesTheOtherAddress(String path, String accept, String told) {
        ExtractableResponse<Response> answer = project.wrongRequest()
                .accept(accept)
                .get(path)
                .then()
                .statusCode(406)
                .extract();
        assertThat(answer.<String>path("type")).isEqualTo("urn:annals:problem:not-acceptable");
        assertThat(answer.<String>path("detail")).contains(told);
    }

    @Test
    void aStreamHasThePastAndThenWhatIsWrittenByAnybody() throws Exception {
        feed.append(3);
        try (SseStream stream = stream("?limit=2")) {
            assertThat(stream.header("Cache-Control")).isEqualTo("no-store");
            assertThat(stream.header("X-Accel-Buffering")).isEqualTo("no");
            assertThat(stream.next().retry()).isEqualTo("1000");
            assertThat(sequenceIds(stream, 3)).containsExactly(1L, 2L, 3L);
            feed.append(2);
            assertThat(sequenceIds(stream, 2)).containsExactly(4L, 5L);
            insert(project, "b", 1);
            SseStream.Block last = stream.nextEvent();
            assertThat(last.event()).isEqualTo("record");
            assertThat(last.id()).startsWith("6-");
            assertThat(last.data()).isEqualTo(record(6));
        }
    }

    /** The record as on a page. */
    private String record(long sequenceId) {
        String page = project.request()
                .get(FEED + "?limit=1&cursor=" + (sequenceId - 1))
                .asString();
        return page.substring(page.indexOf("[") + 1, page.lastIndexOf("]"));
    }

    @Test
    void aStreamGoesOnBehindLastEventIdWhateverItsCursor() throws Exception {
        feed.append(4);
        String id;
        try (SseStream stream = stream("")) {
            stream.nextEvent();
            id = stream.nextEvent().id();
        }
        HttpRequest again = request("?cursor=0").header("Last-Event-ID", id).build();
        try (SseStream stream = SseStream.open(again)) {
            assertThat(sequenceIds(stream, 2)).containsExactly(3L, 4L);
        }
    }

    @Test
    void aStreamBeginsAtTheEndWhereANewestFirstPageSaysItIs() throws Exception {
        feed.append(3);
        String end = feed.page(FEED + "?order=desc&limit=1").pollMore();
        try (SseStream stream = stream(end.substring(end.indexOf('?')) + "&wait=5")) {
            stream.next();
            feed.append(1);
            assertThat(sequenceIds(stream, 1)).containsExactly(4L);
        }
    }

    @Test
    void aFilteredStreamTellsHowFarItHasComeWhereNothingPasses() throws Exception {
        try (SseStream stream = stream("?action=b")) {
            stream.next();
            assertThat(stream.next().comment()).as("a heartbeat").isTrue();
            insert(project, "a", 50);
            SseStream.Block far = stream.next();
            while (far.id() == null || !far.id().startsWith("50-")) {
                assertThat(far.data()).isNull();
                far = stream.next();
            }
            insert(project, "b", 1);
            assertThat(stream.nextEvent().id()).startsWith("51-");
        }
    }

    /** The heartbeat counts from the last write, not from the last heartbeat. */
    @Test
    void aStreamIsNeverSilentForMuchLongerThanAHeartbeat() throws Exception {
        long shortest = Long.MAX_VALUE;
        try (SseStream stream = stream("")) {
            stream.next();
            for (int round = 0; round < 5; round++) {
                assertThat(stream.next().comment()).as("a heartbeat").isTrue();
                feed.append(1);
                // On a busy machine another heartbeat may precede it.
                assertThat(stream.nextEvent().event()).isEqualTo("record");
                long silentSince = System.nanoTime();
                assertThat(stream.next().comment()).as("a heartbeat").isTrue();
                shortest = Math.min(shortest, System.nanoTime() - silentSince);
            }
        }
        // Compared with the setting, because a busy machine delays some of them.
        assertThat(Duration.ofNanos(shortest))
                .isLessThan(LiveLimits.HEARTBEAT.multipliedBy(3).dividedBy(2));
    }

    @Test
    void aStreamWhoseFeedIsSetBackTellsSoAndEnds() throws Exception {
        feed.append(1);
        feed.append(1);
        try (SseStream stream = stream("")) {
            sequenceIds(stream, 2);
            dropNewest();
            SseStream.Block problem = stream.nextEvent();
            assertThat(problem.event()).isEqualTo("problem");
            assertThat(problem.data()).contains("urn:annals:problem:feed-rewound");
            assertThat(stream.next().data()).isNull();
        }
    }

    private void dropNewest() throws SQLException {
        log.run(
                "set local session_replication_role = replica",
                """
                delete from annals.audit_record r using annals.feed_segment s
                where s.project_id = '%1$s' and s.first_sequence_id = 2
                  and r.project_id = s.project_id and r.placed_with = s.append_id
                """.formatted(project.id()),
                "delete from annals.feed_segment where project_id = '" + project.id() + "' and first_sequence_id = 2");
    }

    @Test
    void aClientThatNeverReadsLosesItsConnectionAndDelaysNoOtherClient() throws Exception {
        insertLarge(400);
        try (Socket lazy = new Socket()) {
            lazy.setReceiveBufferSize(4096);
            lazy.connect(new InetSocketAddress(service.getHost(), service.getPort()));
            lazy.getOutputStream().write(streamRequest(project).getBytes(StandardCharsets.US_ASCII));
            until(() -> gauge("annals.live.streams") == 1);
            try (SseStream eager = stream("?limit=1000")) {
                assertThat(sequenceIds(eager, 400)).hasSize(400).last().isEqualTo(400L);
                until(() -> gauge("annals.live.streams") == 1);
                feed.append(1);
                assertThat(sequenceIds(eager, 1)).containsExactly(401L);
            }
            InputStream rest = lazy.getInputStream();
            assertThat(rest.read()).isEqualTo('H');
        }
    }

    /** Records of 60 kB each, together several times what the system buffers for a connection. */
    private void insertLarge(int count) throws SQLException {
        try (Connection connection = log.connectAsWriter();
                PreparedStatement insert =
                        connection.prepareStatement("insert into annals.audit_record (project_id, action, message)"
                                + " select ?, 'large', repeat('x', 60000) from generate_series(1, ?)")) {
            insert.setObject(1, project.id());
            insert.setInt(2, count);
            insert.executeUpdate();
            connection.commit();
        }
    }

    @Test
    void thousandsOfWaitingClientsShareOneReadOfHeadsPerTickAndHoldNoConnection() throws Exception {
        int clients = Connections.atMost(2 * LiveLimits.PROJECT_WAITS);
        assertThat(clients)
                .as("connections, two open files each: raise ulimit -n")
                .isGreaterThan(1_000);
        Project other = log.newProject();
        try (Connections connections = new Connections(service)) {
            connections.open(clients / 2, waitRequest(project));
            connections.open(clients - clients / 2, waitRequest(other));
            until(() -> gauge("annals.live.waits") == clients);
            until(() -> activeConnections() <= 2);
            // A client counts as waiting from its first read on. Reads are over when heads are read without a page.
            until(() -> {
                long before = count("annals.live.pages");
                long ticks = count("annals.live.heads");
                until(() -> count("annals.live.heads") >= ticks + 4);
                return count("annals.live.pages") == before;
            });
            long looks = count("annals.live.heads");
            long pages = count("annals.live.pages");
            long begin = System.nanoTime();
            until(() -> count("annals.live.heads") >= looks + 10);
            long ticks = (System.nanoTime() - begin) / 1_000_000 / LiveLimits.TICK_MILLIS + 1;
            assertThat(count("annals.live.heads") - looks).isLessThanOrEqualTo(ticks + 1);
            assertThat(count("annals.live.pages")).isEqualTo(pages);

            long looksBefore = count("annals.live.heads");
            feed.append(1);
            insert(other, "b", 1);
            until(() -> connections.received("\"sequence_id\":1,") == clients);
            // On a busy machine a tick may wake some clients again before they are answered; they then read once more.
            assertThat(count("annals.live.pages") - pages)
                    .as("one read per project and change")
                    .isBetween(2L, 2 * (1 + count("annals.live.heads") - looksBefore));
            assertThat(connections.received("HTTP/1.1 200")).isEqualTo(clients);
        }
        until(() -> gauge("annals.live.waits") == 0);
        long looks = count("annals.live.heads");
        Thread.sleep(4 * LiveLimits.TICK_MILLIS);
        assertThat(count("annals.live.heads") - looks)
                .as("reads of heads without a waiting client")
                .isLessThanOrEqualTo(1);
    }

    @Test
    void headsOfMoreFeedsThanAStatementReadsAreAllSeen() throws Exception {
        List<Project> projects = new ArrayList<>();
        try (Connections connections = new Connections(service)) {
            for (int i = 0; i < 12; i++) {
                projects.add(log.newProject());
                connections.open(1, waitRequest(projects.get(i)));
            }
            until(() -> gauge("annals.live.waits") == projects.size());
            for (Project each : projects) {
                insert(each, "a", 1);
            }
            until(() -> connections.received("\"sequence_id\":1,") == projects.size());
        }
    }

    @Test
    void aStreamBeyondTheLimitIsRefusedAndTheOthersAllGetTheRecord() throws Exception {
        Project other = log.newProject();
        int beyond = LiveLimits.STREAMS - LiveLimits.PROJECT_STREAMS;
        try (Connections connections = new Connections(service)) {
            connections.open(2_000, streamRequest(project));
            until(() -> connections.received("HTTP/1.1 ") == 2_000);
            assertThat(connections.received("HTTP/1.1 200")).isEqualTo(LiveLimits.PROJECT_STREAMS);
            assertThat(connections.received("too-many-readers")).isEqualTo(2_000 - LiveLimits.PROJECT_STREAMS);
            try (Connections others = new Connections(service)) {
                others.open(beyond + 1, streamRequest(other));
                until(() -> others.received("HTTP/1.1 ") == beyond + 1);
                assertThat(others.received("HTTP/1.1 200")).isEqualTo(beyond);
                ExtractableResponse<Response> refused =
                        other.wrongRequest().get(STREAM).then().statusCode(503).extract();
                assertThat(refused.header("Retry-After")).isEqualTo("5");
                assertThat(refused.<String>path("type")).isEqualTo("urn:annals:problem:too-many-readers");
            }
            long pages = count("annals.live.pages");
            feed.append(1);
            until(() -> connections.received("\ndata: ") == LiveLimits.PROJECT_STREAMS);
            assertThat(count("annals.live.pages") - pages).as("reads, shared").isEqualTo(1);
        }
    }

    @Test
    void aWaitBeyondTheLimitOfAProjectIsRefused() throws Exception {
        int limit = LiveLimits.PROJECT_WAITS;
        assumeTrue(Connections.atMost(limit) == limit, 2 * limit + " open files more are not allowed: raise ulimit -n");
        try (Connections connections = new Connections(service)) {
            connections.open(limit, waitRequest(project));
            until(() -> gauge("annals.live.waits") == limit);
            ExtractableResponse<Response> refused = project.request()
                    .get(FEED + "?wait=1")
                    .then()
                    .statusCode(503)
                    .extract();
            assertThat(refused.<String>path("type")).isEqualTo("urn:annals:problem:too-many-readers");
            project.request().get(FEED).then().statusCode(200);
        }
    }

    private Future<Page> waiting(String url) throws Exception {
        double before = gauge("annals.live.waits");
        CompletableFuture<Page> page = CompletableFuture.supplyAsync(() -> feed.page(url), threads);
        until(() -> gauge("annals.live.waits") == before + 1);
        return page;
    }

    private SseStream stream(String query) throws Exception {
        return SseStream.open(request(query).build());
    }

    private HttpRequest.Builder request(String query) {
        return HttpRequest.newBuilder(service.resolve(STREAM + query))
                .header("Authorization", "Bearer " + project.token());
    }

    private static List<Long> sequenceIds(SseStream stream, int count) throws Exception {
        List<Long> sequenceIds = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            String data = stream.nextEvent().data();
            sequenceIds.add(Long.parseLong(data.replaceFirst(".*?\"sequence_id\":([0-9]+).*", "$1")));
        }
        return sequenceIds;
    }

    private String waitRequest(Project of) {
        return "GET " + FEED + "?wait=60 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + of.token() + "\r\n\r\n";
    }

    private String streamRequest(Project of) {
        return "GET " + STREAM + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + of.token() + "\r\n\r\n";
    }

    private void insert(Project into, String action, int count) throws SQLException {
        try (Connection connection = log.connectAsWriter()) {
            for (int i = 0; i < count; i++) {
                AuditLogFixture.insert(connection, into.id(), action);
            }
            connection.commit();
        }
    }

    private int activeConnections() throws SQLException {
        return (int) log.number("""
                select count(*) from pg_stat_activity
                where application_name = 'annals' and state <> 'idle' and datname = current_database()
                """);
    }

    private double gauge(String name) {
        return metrics.get(name).gauge().value();
    }

    private long count(String name) {
        return metrics.get(name).timer().count();
    }

    private static void until(Await.Condition condition) throws Exception {
        Await.until("what the test waits for", condition);
    }
}
