package dev.annals.core.feed;

import static dev.annals.ProblemAssertions.assertProblem;
import static dev.annals.core.feed.FeedClient.FEED;
import static dev.annals.core.feed.FeedClient.actions;
import static dev.annals.core.feed.FeedClient.sequenceIds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture;
import dev.annals.core.feed.FeedClient.Page;
import dev.annals.core.query.QueryParser;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients read a feed page by page. */
@QuarkusTest
@SuppressWarnings("OrphanedFormatString") // queries are percent-encoded
class FeedResourceTest extends FeedTest {

    @TestHTTPResource("/")
    URI service;

    @Test
    void anEmptyFeedHasAPollMoreThatDeliversWhatComesLater() {
        Page empty = feed.page(FEED);
        assertThat(empty.records()).isEmpty();
        assertThat(empty.next()).isNull();
        Page stillEmpty = feed.page(empty.pollMore());
        assertThat(stillEmpty.pollMore()).isEqualTo(empty.pollMore());

        feed.append(2);

        assertThat(feed.page(stillEmpty.pollMore()).sequenceIds()).containsExactly(1L, 2L);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 200})
    void nextAndThenPollMoreLeadThroughEveryRecordOnce(int limit) throws Exception {
        writeInManyWays();

        List<Page> pages = feed.walk(FEED + "?limit=" + limit);

        assertThat(sequenceIds(pages))
                .isEqualTo(LongStream.rangeClosed(1, 320).boxed().toList());
        for (Page page : pages.subList(0, pages.size() - 1)) {
            assertThat(page.records()).hasSize(limit);
        }
        Page last = pages.get(pages.size() - 1);
        assertThat(feed.page(last.pollMore()).records()).isEmpty();
        feed.append(limit + 1);
        List<Page> later = feed.walk(last.pollMore());
        assertThat(sequenceIds(later))
                .isEqualTo(LongStream.rangeClosed(321, 321 + limit).boxed().toList());
        assertThat(later).hasSize(2);
        assertThat(log.checkFeed(project.id())).isEqualTo(320 + limit + 1);
    }

    /** Appends 320 records: over HTTP one by one and in arrays, by plain SQL one by one and many per statement. */
    private void writeInManyWays() throws Exception {
        feed.append(1);
        feed.append(260);
        try (Connection connection = log.connectAsWriter()) {
            for (int i = 0; i < 9; i++) {
                AuditLogFixture.insert(connection, project.id(), "sql");
            }
            connection.commit();
            AuditLogFixture.execute(
                    connection,
                    "insert into annals.audit_record (project_id, action) select '" + project.id()
                            + "', 'sql' from generate_series(1, 40)");
            connection.commit();
        }
        feed.append(10);
    }

    @Test
    void pollMoreOfAPageInTheMiddleLeadsWhereItsNextLeads() {
        feed.append(5);
        Page first = feed.page(FEED + "?limit=2");
        assertThat(first.next()).isNotNull();
        assertThat(feed.page(first.pollMore()).records())
                .isEqualTo(feed.page(first.next()).records());
        assertThat(feed.page(first.pollMore()).sequenceIds()).containsExactly(3L, 4L);
    }

    @Test
    void aPageThatEndsWithTheFeedHasNoNext() {
        feed.append(4);
        Page page = feed.page(FEED + "?limit=4");
        assertThat(page.next()).isNull();
        feed.append(1);
        assertThat(feed.page(page.pollMore()).sequenceIds()).containsExactly(5L);
    }

    @Test
    void aCursorAlwaysGivesTheSameContinuation() {
        feed.append(10);
        Page first = feed.page(FEED + "?limit=3");
        Page once = feed.page(first.next());
        feed.append(10);
        Page again = feed.page(first.next());
        assertThat(again.answer().asString()).isEqualTo(once.answer().asString());
    }

    @Test
    void withoutALimitAPageHas200Records() {
        feed.append(201);
        assertThat(feed.page(FEED).records()).hasSize(200);
        assertThat(feed.page(FEED + "?limit=1000").records()).hasSize(201);
    }

    @Test
    void aBareSequenceIdIsACursor() {
        feed.append(5);
        assertThat(feed.page(FEED + "?cursor=0").sequenceIds()).containsExactly(1L, 2L, 3L, 4L, 5L);
        assertThat(feed.page(FEED + "?cursor=3").sequenceIds()).containsExactly(4L, 5L);
        assertThat(feed.page(FEED + "?cursor=5").sequenceIds()).isEmpty();
        assertThat(feed.page(FEED + "?cursor=3&order=desc").sequenceIds()).containsExactly(2L, 1L);
        assertThat(feed.page(FEED + "?cursor=3&action=a").sequenceIds()).containsExactly(4L, 5L);
    }

    @Test
    void projectsDoNotSeeEachOther() throws Exception {
        AuditLogFixture.Project other = log.newProject();
        feed.append("{\"action\": \"ours\"}");
        new FeedClient(other).append("{\"action\": \"theirs\"}");
        for (String query : List.of("", "?order=desc", "?start=2000-01-01T00:00:00Z")) {
            assertThat(feed.page(FEED + query).actions()).containsExactly("ours");
            assertThat(new FeedClient(other).page(FEED + query).actions()).containsExactly("theirs");
        }
        log.checkFeed(other.id());
    }

    @Test
    void newestFirstWalksBackToTheFirstRecord() {
        feed.append(300);
        feed.append(23);
        for (int limit : List.of(7, 200)) {
            List<Page> pages = feed.walk(FEED + "?order=desc&limit=" + limit);
            assertThat(sequenceIds(pages))
                    .isEqualTo(LongStream.iterate(323, i -> i - 1)
                            .limit(323)
                            .boxed()
                            .toList());
        }
    }

    @Test
    void pollMoreOfEveryPageOfAWalkBackLeadsForwardFromWhereItBegan() {
        feed.append(5);
        Page first = feed.page(FEED + "?order=desc&limit=2");
        assertThat(first.sequenceIds()).containsExactly(5L, 4L);
        feed.append(3);

        List<Page> pages = feed.walk(first.next());

        assertThat(sequenceIds(pages)).containsExactly(3L, 2L, 1L);
        for (Page page : pages) {
            assertThat(page.pollMore()).isEqualTo(first.pollMore());
        }
        Page newer = feed.page(first.pollMore());
        assertThat(newer.sequenceIds()).containsExactly(6L, 7L);
        assertThat(feed.page(newer.next()).sequenceIds()).containsExactly(8L);
    }

    @Test
    void anEmptyFeedReadNewestFirstPollsFromTheStart() {
        Page empty = feed.page(FEED + "?order=desc");
        assertThat(empty.records()).isEmpty();
        assertThat(empty.next()).isNull();
        feed.append(2);
        assertThat(feed.page(empty.pollMore()).sequenceIds()).containsExactly(1L, 2L);
    }

    @Test
    void aWalkBackWithAFilterKeepsItAndPollsForwardWithIt() {
        feed.append("{\"action\": \"a\"}", "{\"action\": \"b\"}", "{\"action\": \"a\"}", "{\"action\": \"b\"}");
        Page first = feed.page(FEED + "?order=desc&action=a&limit=1");
        assertThat(first.sequenceIds()).containsExactly(3L);
        feed.append("{\"action\": \"b\"}", "{\"action\": \"a\"}");

        assertThat(sequenceIds(feed.walk(first.next()))).containsExactly(1L);
        assertThat(feed.page(first.pollMore()).sequenceIds()).containsExactly(6L);
    }

    @Test
    void allFiltersAtTheirGreatestLengthFitIntoTheUrl() {
        String longest = URLEncoder.encode("€".repeat(1024), StandardCharsets.UTF_8);
        String query = Stream.of("action", "actor", "subject", "outcome")
                .map(filter -> "&" + filter + "=" + longest)
                .collect(Collectors.joining());

        assertThat(feed.page(FEED + "?limit=1" + query).sequenceIds()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "action=login                         | 1 2 3",
                "action=log                           |",
                "actor=u-1                            | 1 4",
                "actor=jane                           | 1 3 4",
                "actor=user                           |",
                "subject=v-7                          | 4 5",
                "subject=cache                        | 3 5",
                "outcome=success                      | 1 4",
                "start=2025-01-03T00:00:00Z           | 3 4 5",
                "start=2025-01-03T01:00:00%2B01:00    | 3 4 5",
                "start=2025-01-03T23:17:00%2B23:17    | 3 4 5",
                "start=2025-01-03T00:00:00.000001Z    | 4 5",
                "end=2025-01-03T00:00:00Z             | 1 2",
                "end=2025-01-03T00:00:00.000001Z      | 1 2 3",
                "start=2025-01-02T00:00:00Z&end=2025-01-04T00:00:00Z | 2 3",
                "start=2025-01-03                     | 3 4 5",
                "start=2025-01-03T00:00               | 3 4 5",
                "start=2025-01-03T01:00%2B01:00       | 3 4 5",
                "start=2025-01-03%2000:00:00.000001   | 4 5",
                "start=2025-01-02&end=2025-01-04      | 2 3",
                "start=2025-01-02&end=2025-01-02      |",
                "action=login&outcome=failure         | 2",
                "actor=jane&subject=v-7               | 4",
                "actor=jane&action=login&outcome=success&subject=x&start=2025-01-01T00:00:00Z&end=2025-01-02T00:00:00Z | 1"
            })
    void onlyRecordsThatPassEveryFilterAppear(String filters, String expected) {
        feed.append("""
                        {"action": "login", "actor": {"type": "user", "id": "u-1", "name": "jane"}, "subject": {"id": "x"},
                         "outcome": "success", "timestamp": "2025-01-01T00:00:00Z"}""", """
                        {"action": "login", "actor": {"id": "u-2"}, "outcome": "failure", "timestamp": "2025-01-02T00:00:00Z"}""", """
                        {"action": "login", "actor": {"id": "jane"}, "subject": {"name": "cache"}, "timestamp": "2025-01-03T00:00:00Z"}""", """
                        {"action": "delete", "actor": {"id": "u-1", "name": "jane"}, "subject": {"id": "v-7"},
                         "outcome": "success", "timestamp": "2025-01-04T00:00:00Z"}""", """
                        {"action": "create", "subject": {"id": "v-7", "name": "cache"}, "timestamp": "2025-01-05T00:00:00Z"}""");
        List<Long> sequenceIds = expected == null
                ? List.of()
                : List.of(expected.split(" ", -1)).stream().map(Long::valueOf).toList();

        assertThat(feed.page(FEED + "?" + filters).sequenceIds()).isEqualTo(sequenceIds);
        assertThat(sequenceIds(feed.walk(FEED + "?limit=1&" + filters))).isEqualTo(sequenceIds);
        assertThat(sequenceIds(feed.walk(FEED + "?limit=1&order=desc&" + filters)))
                .containsExactlyInAnyOrderElementsOf(sequenceIds)
                .isSortedAccordingTo((one, other) -> Long.compare(other, one));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "a b",
                "a+b",
                "100%",
                "%20",
                "a&limit=1",
                "a=b",
                "a#b",
                "a?b",
                "/../",
                "\"quoted\"",
                "<script>",
                "ü",
                "名前",
                "🚀",
                "\\",
                ";",
                ",",
                "a\tb",
                "a\nb",
                "'; drop table audit_record; --",
                "{}",
                "[1]",
                "|",
                "^",
                "`"
            })
    void linksCarryOddFilterValuesUnharmed(String value) throws Exception {
        String text = new ObjectMapper().writeValueAsString(value);
        String record = """
                {"action": %1$s, "actor": {"name": %1$s}, "subject": {"id": %1$s}, "outcome": %1$s,
                 "timestamp": "2025-01-01T00:00:00Z"}""".formatted(text);
        feed.append(record, "{\"action\": \"other\"}", record, record);
        StringBuilder query = new StringBuilder("start=2024-12-31T23:00:00-01:00&end=2025-01-01T02:00:01%2B02:00");
        for (String filter : List.of("action", "actor", "subject", "outcome")) {
            query.append('&').append(filter).append('=').append(URLEncoder.encode(value, StandardCharsets.UTF_8));
        }

        List<Page> pages = feed.walk(FEED + "?limit=1&" + query);

        assertThat(sequenceIds(pages)).containsExactly(1L, 3L, 4L);
        assertThat(actions(pages)).containsOnly(value);
        feed.append("{\"action\": \"other\"}", record);
        assertThat(feed.page(pages.get(pages.size() - 1).pollMore()).sequenceIds())
                .containsExactly(6L);
    }

    @ParameterizedTest
    @CsvSource({
        "limit=0, limit",
        "limit=-1, limit",
        "limit=1001, limit",
        "limit=100000, limit",
        "limit=99999999999999999999, limit",
        "limit=ten, limit",
        "limit=1.5, limit",
        "limit=, limit",
        "limit=+7, limit",
        "limit=7&limit=7, limit",
        "order=up, order",
        "order=DESC, order",
        "start=yesterday, start",
        "start=2025-01, start",
        "start=2025-01-01T00, start",
        "start=2025-01-01Z, start",
        "start=2025-01-02&end=2025-01-01, end",
        "start=99999-01-01T00:00:00Z, start",
        "end=%2B99999-01-01T00:00:00Z, end",
        "end=0000-01-01T00:00:00Z, end",
        "end=2025-02-30T00:00:00Z, end",
        "start=, start",
        "action=, action",
        "actor=%00, actor",
        "subject=a%00b, subject",
        "action=a&action=b, action",
        "colour=red, colour",
        "Limit=7, Limit",
        "wait=0, wait",
        "wait=3600, wait"
    })
    void aParameterThatCannotBeUsedIsNamed(String query, String parameter) {
        assertInvalidParameter(query, parameter);
    }

    @Test
    void aFilterThatIsTooLongIsNamed() {
        assertThat(feed.page(FEED + "?actor=" + "x".repeat(1024)).records()).isEmpty();
        assertInvalidParameter("actor=" + "x".repeat(1025), "actor");
    }

    @Test
    void theLastHoursEndNow() {
        Instant now = Instant.now();
        append(now.minusSeconds(1_000), now, now.plusSeconds(30), now.plusSeconds(300), now.plusSeconds(86_400));
        feed.append("{\"action\": \"a\", \"timestamp\": \"2099-01-01T00:00:00Z\"}");
        for (String order : List.of("", "&order=desc")) {
            assertThat(feed.page(FEED + "?q=last:1m" + order).sequenceIds()).containsExactlyInAnyOrder(2L, 3L);
            assertThat(feed.page(FEED + "?q=last:99999w" + order).sequenceIds()).containsExactlyInAnyOrder(1L, 2L, 3L);
            assertThat(feed.page(FEED + "?q=-last:1h" + order).sequenceIds()).containsExactlyInAnyOrder(4L, 5L, 6L);
            assertThat(feed.page(FEED + "?q=last:1m+OR+action:none" + order).sequenceIds())
                    .containsExactlyInAnyOrder(2L, 3L);
        }
        assertThat(project.request()
                        .get(FEED + "/facets?q=last:1h")
                        .then()
                        .statusCode(200)
                        .extract()
                        .<Integer>path("total"))
                .isEqualTo(3);
        assertThat(project.wrongRequest()
                        .get(FEED + "/export?q=last:1h")
                        .then()
                        .statusCode(200)
                        .extract()
                        .asString()
                        .lines())
                .hasSize(3);
    }

    /** Each read takes the range of {@code last:} from its own time, not from the time of the request. */
    @Test
    void theLastSecondsMoveOnWhileAClientWaits() throws Exception {
        CompletableFuture<List<Long>> poll = CompletableFuture.supplyAsync(
                () -> feed.page(FEED + "?q=last:1s&wait=30").sequenceIds());
        try (SseStream stream =
                SseStream.open(HttpRequest.newBuilder(service.resolve(FEED + "/stream?q=last:1s%20OR%20action:none"))
                        .header("Authorization", "Bearer " + project.token())
                        .build())) {
            Instant asked = Instant.now();
            while (Instant.now().isBefore(asked.plusSeconds(3))) {
                Thread.sleep(100);
            }
            append(asked, asked.plus(QueryParser.AHEAD).plusSeconds(1));
            assertThat(stream.nextEvent().data()).contains("\"sequence_id\":2,");
        }
        assertThat(poll.get()).containsExactly(2L);
    }

    private void append(Instant... timestamps) {
        feed.append(Stream.of(timestamps)
                .map(time -> "{\"action\": \"a\", \"timestamp\": \"" + time + "\"}")
                .toArray(String[]::new));
    }

    private void assertInvalidParameter(String query, String parameter) {
        ExtractableResponse<Response> problem =
                project.wrongRequest().get(FEED + "?" + query).then().extract();
        assertProblem(problem, 400, "invalid-parameter");
        assertThat(problem.<String>path("parameter")).isEqualTo(parameter);
    }
}
