package dev.annals.core.feed;

import static dev.annals.core.feed.FeedClient.FEED;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.OneByOne;
import dev.annals.core.feed.FeedClient.Page;
import dev.annals.core.feed.FeedQuery.Order;
import dev.annals.core.query.Filter;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import jakarta.inject.Inject;
import java.net.URI;
import java.net.http.HttpRequest;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A page of large records has a bounded number of bytes and skips none. */
@QuarkusTest
@OneByOne
@TestProfile(SmallPages.class)
class PageBytesIT extends FeedTest {

    /** Bytes of a page besides its records. */
    private static final int FRAME_BYTES = 2_048;

    private static final int RECORDS = 28;

    @Inject
    FeedReader reader;

    @TestHTTPResource("/")
    URI service;

    @BeforeEach
    void writeRecordsOfEverySize() throws SQLException {
        // Random ids, so that the order of the index differs from the feed's.
        try (Connection connection = log.connect();
                PreparedStatement insert = connection.prepareStatement("""
                        insert into annals.audit_record (project_id, id, action, actor_name, message, metadata)
                        select ?, gen_random_uuid(), 'kind ' || i % 7, repeat(chr(1), i % 5 * 200),
                          case i % 7 when 0 then repeat(chr(1), 20000) when 1 then repeat('m', 65000)
                            when 2 then repeat(md5(i::text), 60) when 3 then null when 4 then repeat(chr(128512), 700)
                            else 'short ' || i end,
                          case i % 7 when 2 then jsonb_build_object('a', repeat('x', 100000))
                            when 5 then (select jsonb_object_agg('k' || k, md5(k::text)) from generate_series(1, 1500) k)
                            when 6 then (select jsonb_object_agg('k' || k, 1e300) from generate_series(1, 30) k) end
                        from generate_series(1, ?) i
                        """)) {
            insert.setObject(1, project.id());
            insert.setInt(2, RECORDS);
            insert.executeUpdate();
            connection.commit();
        }
    }

    @AfterEach
    void nothingIsAdded() throws SQLException {
        assertThat(log.checkFeed(project.id())).isEqualTo(RECORDS);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "&start=0001-01-01T00:00:00Z", "&order=desc", "&order=desc&start=0001-01-01T00:00:00Z"})
    void aWalkHasEveryRecordOnceOnPagesOfBoundedBytes(String how) {
        List<Page> pages = feed.walk(FEED + "?limit=1000" + how);
        for (Page page : pages) {
            int bytes = page.answer().asByteArray().length;
            assertThat(page.sequenceIds().size() == 1 || bytes <= SmallPages.PAGE_BYTES + FRAME_BYTES)
                    .as("%s bytes of %s records", bytes, page.sequenceIds().size())
                    .isTrue();
        }
        List<Long> ids = new ArrayList<>(FeedClient.sequenceIds(pages));
        if (how.contains("desc")) {
            Collections.reverse(ids);
        }
        assertThat(ids).isEqualTo(LongStream.rangeClosed(1, RECORDS).boxed().toList());
        for (Page page : pages) {
            page.records().forEach(this::assertIsWhole);
        }
    }

    @Test
    void aFilterFindsTheLargeRecordsOnce() {
        for (int kind = 0; kind < 7; kind++) {
            for (String order : List.of("asc", "desc")) {
                List<Page> pages = feed.walk(FEED + "?limit=30&action=kind%20" + kind + "&order=" + order);
                assertThat(new HashSet<>(FeedClient.sequenceIds(pages)))
                        .hasSameSizeAs(FeedClient.sequenceIds(pages))
                        .hasSize((RECORDS - kind) / 7 + (kind == 0 ? 0 : 1));
            }
        }
    }

    @Test
    void aStreamAndAnExportHaveEveryRecordOnce() throws Exception {
        HttpRequest request = HttpRequest.newBuilder(service.resolve(FEED + "/stream?limit=1000"))
                .header("Authorization", "Bearer " + project.token())
                .header("Accept", "text/event-stream")
                .build();
        List<String> streamed = new ArrayList<>();
        try (SseStream stream = SseStream.open(request)) {
            while (streamed.size() < RECORDS) {
                streamed.add(stream.nextEvent().data());
            }
        }
        String export = project.wrongRequest().get(FEED + "/export").asString();
        assertThat(streamed).isEqualTo(export.lines().toList());
        Set<Object> ids = new HashSet<>();
        for (String record : streamed) {
            assertThat(ids.add(io.restassured.path.json.JsonPath.from(record).getLong("sequence_id")))
                    .isTrue();
        }
    }

    @Test
    void theReaderHoldsNoMoreThanThePage() {
        FeedQuery query = new FeedQuery(Order.ASCENDING, null, null, 1000, SmallPages.PAGE_BYTES, Filter.NONE);
        FeedPage page = reader.read(project.id(), query).await().indefinitely();
        assertThat(page.records()).hasSizeBetween(1, 10);
        assertThat(page.next()).isEqualTo(page.pollMore());
    }

    /** A page ends between records, never inside one. */
    private void assertIsWhole(Map<String, Object> record) {
        int i = Integer.parseInt(record.get("sequence_id").toString());
        String message = (String) record.get("message");
        Map<?, ?> metadata = (Map<?, ?>) record.get("metadata");
        int kind = Integer.parseInt(record.get("action").toString().substring(5));
        switch (kind) {
            case 0 -> assertThat(message).isEqualTo("\u0001".repeat(20_000));
            case 1 -> assertThat(message).hasSize(65_000);
            case 2 -> {
                assertThat(message).hasSize(32 * 60);
                assertThat(metadata).hasSize(1);
                assertThat((String) metadata.get("a")).hasSize(100_000);
            }
            case 3 -> assertThat(message).isNull();
            case 4 -> assertThat(message).isEqualTo("\uD83D\uDE00".repeat(700));
            case 5 -> assertThat(metadata).hasSize(1_500);
            default -> assertThat(metadata).hasSize(30);
        }
        assertThat(i).isBetween(1, RECORDS);
    }
}
