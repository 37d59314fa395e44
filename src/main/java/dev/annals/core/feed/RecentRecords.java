package dev.annals.core.feed;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.core.feed.PlaceProofs.History;
import dev.annals.core.feed.PlaceProofs.Proof;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.smallrye.mutiny.Uni;
import jakarta.enterprise.context.ApplicationScoped;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The ends of feeds, which nearly all readers read, in memory. A page that was read up to the head of its feed is kept for a
 * moment. A later page comes from it if the database says, after the request came, that the last record kept still stands at
 * its place in the same history, that nothing of the project was redacted since, and that nothing of what is kept has expired:
 * records do not change otherwise, and sequence ids have no gap, so all before it stand where they stood.
 *
 * <p>Nothing is kept that was only committed, and not read. Safe for any thread.
 */
@ApplicationScoped
class RecentRecords {

    /** After how long records are read again. So whatever is taken out of a feed is gone from here, too, by then. */
    private static final Duration KEPT = Duration.ofSeconds(10);

    private static final int MAX_RECORDS = 2_000;
    /** What a record takes in memory besides its bytes. */
    private static final int RECORD_OVERHEAD = 100;

    private final Cache<UUID, Stretch> kept;
    private final PlaceProofs proofs;
    private final long maxBytes;
    private final Counter fromMemory;
    private final Counter fromDatabase;

    RecentRecords(PlaceProofs proofs, FeedConfig config, MeterRegistry metrics) {
        this.proofs = proofs;
        this.maxBytes = config.keptBytes();
        this.kept = Caffeine.newBuilder()
                .maximumWeight(maxBytes)
                .<UUID, Stretch>weigher((projectId, stretch) -> stretch.bytes)
                .build();
        this.fromMemory = metrics.counter("annals.feed.pages", "source", "memory");
        this.fromDatabase = metrics.counter("annals.feed.pages", "source", "database");
    }

    /** Records of a feed without a gap, up to what was its head. */
    private static final class Stretch {
        /** Where it begins: behind this. */
        final Cursor before;

        final Cursor end;
        final List<EncodedRecord> records;
        final History history;
        /** How many redactions the project had seen when they were read. */
        final long redactions;
        /** When the first of them was read. */
        final long readAt;

        final int bytes;

        Stretch(Cursor before, Cursor end, List<EncodedRecord> records, History history, long redactions, long readAt) {
            this.before = before;
            this.end = end;
            this.records = records;
            this.history = history;
            this.redactions = redactions;
            this.readAt = readAt;
            long sum = RECORD_OVERHEAD;
            for (EncodedRecord record : records) {
                sum += record.length() + RECORD_OVERHEAD;
            }
            this.bytes = (int) Math.min(sum, Integer.MAX_VALUE);
        }

        boolean isOld() {
            return System.nanoTime() - readAt > KEPT.toNanos();
        }

        /** How many of the records lie at or before the cursor; -1 if it does not stand here, or not at these records. */
        int position(UUID projectId, Cursor cursor) {
            if (cursor.sequenceId() < before.sequenceId() || cursor.sequenceId() > end.sequenceId()) {
                return -1;
            }
            int position = (int) (cursor.sequenceId() - before.sequenceId());
            boolean matches = cursor.check() == null
                    || (position == 0
                            ? cursor.equals(before)
                            : cursor.equals(Cursor.behind(projectId, records.get(position - 1))));
            return matches ? position : -1;
        }
    }

    /**
     * A page from memory, in ascending order and without filters.
     *
     * @return null if it has to be read. Fails if the database cannot be asked
     */
    Uni<@Nullable FeedPage> page(UUID projectId, FeedQuery query) {
        Cursor cursor = query.cursor() == null ? Cursor.START : query.cursor();
        Stretch stretch = kept.getIfPresent(projectId);
        int position = stretch == null || stretch.isOld() ? -1 : stretch.position(projectId, cursor);
        if (stretch == null || position < 0) {
            fromDatabase.increment();
            return Uni.createFrom().nullItem();
        }
        return proofs.ask(projectId, stretch.end.sequenceId()).map(proof -> {
            FeedPage page = holds(projectId, stretch, proof) ? page(projectId, stretch, position, query, proof) : null;
            (page == null ? fromDatabase : fromMemory).increment();
            return page;
        });
    }

    private static boolean holds(UUID projectId, Stretch stretch, Proof proof) {
        boolean there = stretch.end.sequenceId() == 0
                || (proof.recordId() != null
                        && proof.mark() != null
                        && stretch.end.matches(projectId, proof.recordId(), proof.mark()));
        return there
                && stretch.history.equals(proof.history())
                && stretch.redactions == proof.redactions()
                && stretch.before.sequenceId() >= proof.horizon();
    }

    /** Null if the feed has gone on, and the page with it. */
    private static @Nullable FeedPage page(
            UUID projectId, Stretch stretch, int position, FeedQuery query, Proof proof) {
        List<EncodedRecord> fitting = new ArrayList<>();
        long bytes = 0;
        for (EncodedRecord record : stretch.records.subList(position, stretch.records.size())) {
            bytes += record.length();
            if (fitting.size() == query.limit() || (bytes > query.maxBytes() && !fitting.isEmpty())) {
                return page(projectId, fitting, true);
            }
            fitting.add(record);
        }
        if (proof.head() > stretch.end.sequenceId()) {
            return fitting.size() == query.limit() ? page(projectId, fitting, true) : null;
        }
        if (fitting.isEmpty()) {
            return new FeedPage(fitting, null, null, query.cursor() == null ? Cursor.START : query.cursor());
        }
        return page(projectId, fitting, false);
    }

    private static FeedPage page(UUID projectId, List<EncodedRecord> records, boolean more) {
        Cursor behind = Cursor.behind(projectId, records.get(records.size() - 1));
        return new FeedPage(records, more ? behind : null, null, behind);
    }

    /** The history to which a page belongs that is read from now on, for {@link #keep}; null if it is not known yet. */
    @Nullable
    History history() {
        return proofs.history();
    }

    /**
     * Keeps a page that was read from the database, if it reaches the head of its feed.
     *
     * @param redactions how many the project had seen when it was read
     * @param history from before it was read
     */
    void keep(UUID projectId, FeedQuery query, FeedPage page, long redactions, @Nullable History history) {
        Cursor cursor = query.cursor() == null ? Cursor.START : query.cursor();
        boolean known = cursor.sequenceId() == 0 || cursor.check() != null;
        if (page.next() != null || !known || maxBytes == 0) {
            return;
        }
        if (history == null) {
            // Once per start: from the next page on, it is known to which history it belongs.
            proofs.ask(projectId, 0).subscribe().with(proof -> {}, failure -> {});
            return;
        }
        Stretch read = new Stretch(cursor, page.pollMore(), page.records(), history, redactions, System.nanoTime());
        if (isSmall(read)) {
            kept.asMap().merge(projectId, read, (before, added) -> join(projectId, before, added));
        }
    }

    /** No project takes more than a share of the memory. */
    private boolean isSmall(Stretch stretch) {
        return stretch.bytes <= maxBytes / 4 && stretch.records.size() <= MAX_RECORDS;
    }

    /** Both in one if the second begins in the first, otherwise the one that reaches further. */
    private Stretch join(UUID projectId, Stretch known, Stretch added) {
        if (known.isOld() || !known.history.equals(added.history) || known.redactions < added.redactions) {
            return added;
        }
        if (known.redactions > added.redactions) {
            return known;
        }
        if (known.end.sequenceId() > added.end.sequenceId()) {
            return known;
        }
        int position = known.position(projectId, added.before);
        if (position < 0) {
            return added;
        }
        List<EncodedRecord> all = new ArrayList<>(position + added.records.size());
        all.addAll(known.records.subList(0, position));
        all.addAll(added.records);
        Stretch both = new Stretch(known.before, added.end, all, added.history, added.redactions, known.readAt);
        return isSmall(both) ? both : added;
    }
}
