package dev.annals.core.feed;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.core.feed.FeedClient.Page;
import dev.annals.kernel.memory.MemoryBudget;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A page takes memory as it grows, and is shorter if its project has no more. */
@QuarkusTest
class PageMemoryTest extends FeedTest {

    private static final int RECORDS = 60;
    private static final int LIMIT = 30;
    /** Bytes that a page of so many records reserves first. */
    private static final long FIRST = 1_048_576 + LIMIT * 8_192;

    @Inject
    MemoryBudget memory;

    @ParameterizedTest
    @ValueSource(strings = {"", "&start=0001-01-01T00:00:00Z", "&order=desc", "&order=desc&start=0001-01-01T00:00:00Z"})
    void withoutMoreMemoryPagesAreShortAndSkipNothing(String how) throws SQLException {
        // Small in the database, and large as JSON: a control character takes six bytes.
        write("repeat(chr(1), 2000)");
        assertThat(walk(how)).allSatisfy(page -> assertThat(page.sequenceIds()).hasSizeLessThanOrEqualTo(LIMIT));
        int withMemory = walk(how).size();

        long taken = memory.holderLimit() - FIRST;
        assertThat(memory.tryTake(project.id(), taken)).isTrue();
        try {
            List<Page> pages = walk(how);
            assertThat(pages).hasSizeGreaterThan(withMemory);
            assertEveryRecordOnce(how, pages);
        } finally {
            memory.give(project.id(), taken);
        }
        assertEveryRecordOnce(how, walk(how));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "&order=desc"})
    void withoutMoreMemoryPagesOfLargeRecordsAreShortAndSkipNothing(String how) throws SQLException {
        write("repeat('m', 65000)");
        long taken = memory.holderLimit() - FIRST;
        assertThat(memory.tryTake(project.id(), taken)).isTrue();
        try {
            List<Page> pages = walk(how);
            assertThat(pages).hasSizeGreaterThan(RECORDS / 4);
            assertEveryRecordOnce(how, pages);
        } finally {
            memory.give(project.id(), taken);
        }
        assertThat(walk(how)).hasSizeLessThan(4);
    }

    @Test
    void pagesFromMemoryAreShortToo() throws SQLException {
        write("repeat(chr(1), 2000)");
        // The second pass reads what the first one cached.
        for (int walk = 0; walk < 2; walk++) {
            long taken = memory.holderLimit() - FIRST;
            if (walk == 1) {
                assertThat(memory.tryTake(project.id(), taken)).isTrue();
            }
            try {
                assertEveryRecordOnce("", walk(""));
            } finally {
                memory.give(project.id(), walk == 1 ? taken : 0);
            }
        }
    }

    private void write(String message) throws SQLException {
        log.run("insert into annals.audit_record (project_id, id, action, message) select '" + project.id()
                + "', gen_random_uuid(), 'a', " + message + " from generate_series(1, " + RECORDS + ")");
    }

    private List<Page> walk(String how) {
        return feed.walk(FeedClient.FEED + "?limit=" + LIMIT + how);
    }

    private static void assertEveryRecordOnce(String how, List<Page> pages) {
        List<Long> ids = new ArrayList<>(FeedClient.sequenceIds(pages));
        if (how.contains("desc")) {
            Collections.reverse(ids);
        }
        assertThat(ids).isEqualTo(LongStream.rangeClosed(1, RECORDS).boxed().toList());
    }
}
