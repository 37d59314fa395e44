package dev.annals.derived.search;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.core.feed.Cursor;
import dev.annals.core.feed.FeedPage;
import dev.annals.core.feed.FeedPage.Searched;
import dev.annals.core.feed.FeedQuery;
import dev.annals.core.feed.FeedQuery.Order;
import dev.annals.core.feed.FeedReader;
import dev.annals.core.query.Filter;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import dev.annals.core.record.StoredRecord;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Reads pages with filters, for tests that compare them with all records. */
public final class FilteredPages {

    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final int PAGE_BYTES = 1 << 20;

    private FilteredPages() {}

    static FeedPage read(
            FeedReader reader,
            UUID project,
            Order order,
            @Nullable Cursor cursor,
            @Nullable Cursor head,
            int limit,
            Filter filter) {
        return reader.read(project, new FeedQuery(order, cursor, head, limit, PAGE_BYTES, filter))
                .await()
                .atMost(LIMIT);
    }

    static List<Long> ids(FeedPage page) {
        return page.records().stream().map(EncodedRecord::sequenceId).toList();
    }

    /** The sequence ids of all pages of a filter. Each page continues the search of the page before. */
    static List<Long> walk(FeedReader reader, UUID project, Order order, int limit, Filter filter) {
        List<Long> found = new ArrayList<>();
        Cursor cursor = null;
        Cursor head = null;
        Searched before = null;
        do {
            FeedPage page = read(reader, project, order, cursor, head, limit, filter);
            before = checkSearched(page, order, before);
            assertThat(page.next() == null || !page.next().equals(cursor)).isTrue();
            found.addAll(ids(page));
            cursor = page.next();
            head = page.head();
        } while (cursor != null);
        return found;
    }

    private static @Nullable Searched checkSearched(FeedPage page, Order order, @Nullable Searched before) {
        Searched searched = page.searched();
        if (searched == null) {
            return null;
        }
        assertThat(ids(page)).allMatch(id -> id > searched.from() && id <= searched.through());
        if (order == Order.ASCENDING) {
            assertThat(searched.from()).isEqualTo(before == null ? 0 : before.through());
            assertThat(searched.through()).isEqualTo(page.pollMore().sequenceId());
        } else {
            assertThat(searched.through())
                    .isEqualTo(before == null ? page.pollMore().sequenceId() : before.from());
            assertThat(searched.from() == 0).isEqualTo(page.next() == null);
        }
        return searched;
    }

    /** All records of a feed, in its order. */
    public static List<StoredRecord> everyRecord(FeedReader reader, UUID project) {
        List<StoredRecord> all = new ArrayList<>();
        Cursor cursor = null;
        do {
            FeedQuery query = new FeedQuery(Order.ASCENDING, cursor, null, 1000, PAGE_BYTES, Filter.NONE);
            cursor = reader.read(project, query.as((record, out) -> all.add(record)))
                    .await()
                    .atMost(LIMIT)
                    .next();
        } while (cursor != null);
        all.sort(Comparator.comparingLong(StoredRecord::sequenceId));
        return all;
    }
}
