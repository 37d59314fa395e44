package dev.annals.core.feed;

import static dev.annals.core.feed.FeedClient.FEED;
import static dev.annals.core.feed.FeedClient.sequenceIds;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.OneByOne;
import dev.annals.core.feed.FeedClient.Page;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A filtered page scans {@value SmallPages#SCAN_LIMIT} records: it may be short or empty, and never skips. */
@QuarkusTest
@OneByOne
@TestProfile(SmallPages.class)
class FilteredPageIT extends FeedTest {

    /** The records that pass, of 100: some close together, some far apart, the first and the last but one. */
    private static final List<Long> RARE = List.of(1L, 2L, 3L, 9L, 30L, 31L, 32L, 33L, 34L, 35L, 36L, 60L, 99L);

    @BeforeEach
    void writeAHundredRecords() {
        String[] records = IntStream.rangeClosed(1, 100)
                .mapToObj(i -> RARE.contains((long) i) ? "{\"action\": \"rare\"}" : "{\"action\": \"common\"}")
                .toArray(String[]::new);
        // appends of many sizes, so that pages begin and end inside an append
        int from = 0;
        for (int size : List.of(1, 1, 1, 2, 3, 40, 1, 7, 30, 14)) {
            feed.append(Arrays.copyOfRange(records, from, from + size));
            from += size;
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4, 5, 6, 200})
    void followingNextFindsEveryRecordThatPassesOnce(int limit) {
        List<Page> pages = feed.walk(FEED + "?action=rare&limit=" + limit);
        assertThat(sequenceIds(pages)).isEqualTo(RARE);
        assertThat(pages).anyMatch(page -> page.records().isEmpty());
        assertThat(pages).hasSizeLessThanOrEqualTo(100 / SmallPages.SCAN_LIMIT + RARE.size() + 1);
        for (Page page : pages) {
            assertThat(page.records()).hasSizeLessThanOrEqualTo(limit);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4, 5, 6, 200})
    void walkingBackFindsEveryRecordThatPassesOnce(int limit) {
        List<Page> pages = feed.walk(FEED + "?action=rare&order=desc&limit=" + limit);
        List<Long> newestFirst = new ArrayList<>(RARE);
        Collections.reverse(newestFirst);
        assertThat(sequenceIds(pages)).isEqualTo(newestFirst);
        assertThat(pages).anyMatch(page -> page.records().isEmpty());
        for (Page page : pages) {
            assertThat(page.pollMore()).isEqualTo(pages.get(0).pollMore());
        }
    }

    @Test
    void aWalkFromAnywhereInTheFeedSkipsNothing() {
        for (long from = 0; from <= 100; from += 7) {
            long begin = from;
            assertThat(sequenceIds(feed.walk(FEED + "?action=rare&limit=3&cursor=" + from)))
                    .isEqualTo(RARE.stream().filter(id -> id > begin).toList());
        }
    }

    @Test
    void pollMoreOfAShortPageFindsWhatIsWrittenLater() {
        List<Page> pages = feed.walk(FEED + "?action=rare");
        Page last = pages.get(pages.size() - 1);
        feed.append(12);
        List<Page> nothing = feed.walk(last.pollMore());
        assertThat(sequenceIds(nothing)).isEmpty();
        feed.append("{\"action\": \"rare\"}");
        assertThat(sequenceIds(feed.walk(nothing.get(nothing.size() - 1).pollMore())))
                .containsExactly(113L);
        assertThat(sequenceIds(feed.walk(last.pollMore()))).containsExactly(113L);
    }

    @Test
    void aFilterThatNothingPassesComesToTheEnd() {
        for (String order : List.of("asc", "desc")) {
            List<Page> pages = feed.walk(FEED + "?action=none&order=" + order);
            assertThat(sequenceIds(pages)).isEmpty();
            assertThat(pages).hasSizeBetween(2, 100 / SmallPages.SCAN_LIMIT + 2);
        }
    }
}
