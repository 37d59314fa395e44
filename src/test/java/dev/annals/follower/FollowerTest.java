package dev.annals.follower;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A follower neither skips nor repeats a record, whether pages or saves fail. */
class FollowerTest {

    private static final int RECORDS = 25;
    private static final int PAGE = 4;
    private static final String FEED = "https://elsewhere/v1/project-logs?limit=4&cursor=";

    private final Kept kept = new Kept();
    private int reads;
    private int failures;

    /** Keeps records and cursor in one step, or neither. */
    private static final class Kept implements Follower.Store<Integer> {
        final List<Integer> records = new ArrayList<>();
        String cursor;
        int saves;
        boolean fails;

        @Override
        public String cursor() {
            return cursor;
        }

        @Override
        public void save(List<Integer> page, String behind) throws IOException {
            saves++;
            if (fails) {
                throw new IOException("disk full");
            }
            records.addAll(page);
            cursor = behind;
        }
    }

    private Page<Integer> read(String cursor) throws Unavailable {
        reads++;
        if (failures > 0) {
            failures--;
            throw new Unavailable("away", null, null);
        }
        int first = cursor == null ? 0 : Integer.parseInt(cursor);
        int end = Math.min(RECORDS, first + PAGE);
        List<Integer> records = new ArrayList<>();
        for (int record = first; record < end; record++) {
            records.add(record);
        }
        return new Page<>(records, end < RECORDS ? FEED + end : null, FEED + end + "&wait=30");
    }

    private static List<Integer> all() {
        return IntStream.range(0, RECORDS).boxed().toList();
    }

    @Test
    void everyRecordIsSavedOnceAndInOrder() throws Exception {
        Follower<Integer> follower = new Follower<>(this::read, kept);
        while (follower.step()) {
            // the next page
        }

        assertThat(kept.records).isEqualTo(all());
        int saves = kept.saves;
        assertThat(follower.step()).isFalse();
        assertThat(kept.saves).as("nothing new is nothing to save").isEqualTo(saves);
    }

    @Test
    void recordsThatCouldNotBeSavedAreReadAgain() throws Exception {
        Follower<Integer> follower = new Follower<>(this::read, kept);
        follower.step();
        kept.fails = true;
        assertThatThrownBy(follower::step).hasMessage("disk full");
        kept.fails = false;
        while (follower.step()) {
            // the next page
        }

        assertThat(kept.records).isEqualTo(all());
    }

    @Test
    void aServiceThatIsAwayIsAskedAgainAndAnyOtherFailureEndsIt() {
        Follower<Integer> follower = new Follower<>(
                cursor -> {
                    Page<Integer> page = read(cursor);
                    if (page.records().isEmpty()) {
                        throw new IllegalStateException("rewound");
                    }
                    failures = 1;
                    return page;
                },
                kept);

        assertThatThrownBy(() -> follower.run(Duration.ZERO)).hasMessage("rewound");
        assertThat(kept.records).isEqualTo(all());
        assertThat(reads).isEqualTo(2 * (RECORDS + PAGE - 1) / PAGE + 1);
    }

    @Test
    void pausesGrowUpToALimitAndFollowTheService() {
        Pauses pauses = new Pauses();
        Unavailable away = new Unavailable("away", null, null);

        assertThat(pauses.after(away)).isEqualTo(Duration.ofMillis(100));
        assertThat(pauses.after(away)).isEqualTo(Duration.ofMillis(200));
        for (int i = 0; i < 10; i++) {
            pauses.after(away);
        }
        assertThat(pauses.after(away)).isEqualTo(Duration.ofSeconds(5));
        assertThat(pauses.after(new Unavailable("busy", "12", null))).isEqualTo(Duration.ofSeconds(12));
        assertThat(pauses.after(new Unavailable("busy", "999999", null))).isEqualTo(Duration.ofSeconds(30));
        assertThat(pauses.after(new Unavailable("busy", "Fri, 31 Dec 1999 23:59:59 GMT", null)))
                .isEqualTo(Duration.ofSeconds(5));
        pauses.worked();
        assertThat(pauses.after(away)).isEqualTo(Duration.ofMillis(100));
    }

    @Test
    void aPageWithoutACursorIsNone() {
        assertThat(new Page<>(List.of(), FEED + "7-0123abcd.9&order=desc", FEED + "9").next())
                .isEqualTo("7-0123abcd.9");
        assertThatThrownBy(() -> new Page<>(List.of(), null, "https://elsewhere/?cursors=1"))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Page<>(List.of(), null, FEED + "1%0A2"))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aPlaceIsReplacedAsAWhole(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("cursor");
        PlaceFile.replace(file, "1-0123abcd");
        PlaceFile.replace(file, "2");

        assertThat(file).hasContent("2\n");
        try (var left = Files.list(folder)) {
            assertThat(left).containsExactly(file);
        }
    }
}
