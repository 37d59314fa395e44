package dev.annals.core.feed;

import static dev.annals.ProblemAssertions.assertProblem;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.SqlFixture;
import dev.annals.core.feed.FeedClient.Page;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Pages from memory equal pages from the database. */
@QuarkusTest
class CachingReaderTest extends FeedTest {

    private static final int POLLS = 50;

    @Inject
    MeterRegistry metrics;

    @Test
    void aPollAtTheEndOfAFeedReadsNoPage() {
        feed.append(20);
        Page first = becomeKnown();
        Page halfway = feed.page(FeedClient.FEED + "?limit=10");
        String fromTen = halfway.pollMore();
        double read = pages("database");
        double kept = pages("memory");
        for (int i = 0; i < POLLS; i++) {
            assertThat(feed.page(first.pollMore()).sequenceIds()).isEmpty();
            assertThat(feed.page(fromTen).sequenceIds()).containsExactlyElementsOf(numbers(11, 20));
            assertThat(feed.page(fromTen.replace("limit=10", "limit=4")).sequenceIds())
                    .containsExactlyElementsOf(numbers(11, 14));
        }
        // A machine that is late with news of the feed has pages read again.
        assertThat(pages("memory") - kept).isGreaterThan(2 * POLLS);
        assertThat(pages("database") - read).isLessThan(POLLS);
    }

    @Test
    void aPageFromMemoryIsTheOneFromTheDatabase() {
        feed.append("""
                {"action": "a", "message": "é😀"}
                """, """
                {"action": "b", "metadata": {"n": 1.10, "text": "é😀"}}
                """);
        String read = feed.page(FeedClient.FEED).answer().asString();
        becomeKnown();
        double kept = pages("memory");
        assertThat(feed.page(FeedClient.FEED).answer().asString()).isEqualTo(read);
        assertThat(pages("memory") - kept).isEqualTo(1);
    }

    @Test
    void aPollShowsEveryRecordCommittedBeforeIt() throws Exception {
        feed.append(1);
        becomeKnown();
        AtomicBoolean done = new AtomicBoolean();
        List<CompletableFuture<Void>> others = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            others.add(CompletableFuture.runAsync(() -> {
                while (!done.get()) {
                    feed.page(FeedClient.FEED);
                }
            }));
        }
        try (Connection writer = log.connectAsWriter()) {
            String pollMore = feed.page(FeedClient.FEED).pollMore();
            double kept = pages("memory");
            for (int i = 2; i < 150; i++) {
                SqlFixture.insert(writer, project.id(), "b");
                writer.commit();
                Page page = feed.page(pollMore);
                assertThat(page.sequenceIds()).containsExactly((long) i);
                pollMore = page.pollMore();
            }
            assertThat(pages("memory")).as("pages from memory").isGreaterThan(kept);
        } finally {
            done.set(true);
            CompletableFuture.allOf(others.toArray(CompletableFuture[]::new)).join();
        }
    }

    @Test
    void aRecordThatIsNoLongerAtItsPlaceIsNotServed() throws Exception {
        feed.append(5);
        Page known = becomeKnown();
        log.run(
                "set session_replication_role = replica",
                "delete from annals.feed_segment where project_id = '%s'".formatted(project.id()),
                "delete from annals.append where project_id = '%s'".formatted(project.id()),
                "delete from annals.audit_record where project_id = '%s'".formatted(project.id()),
                "set session_replication_role = default");
        assertProblem(project.request().get(known.pollMore()).then().extract(), 409, "feed-rewound");
        assertThat(feed.page(FeedClient.FEED).sequenceIds()).isEmpty();
    }

    /** Reads until the end of the feed comes from memory. The first page after a start is never cached. */
    private Page becomeKnown() {
        double kept = pages("memory");
        Page page;
        do {
            page = feed.page(FeedClient.FEED);
        } while (pages("memory") == kept);
        return page;
    }

    private static List<Long> numbers(long first, long last) {
        return LongStream.rangeClosed(first, last).boxed().toList();
    }

    private double pages(String source) {
        return metrics.counter("annals.feed.pages", "source", source).count();
    }
}
