package dev.annals.derived.log;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.derived.proof.Tile;
import dev.annals.proof.Hash;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.smallrye.mutiny.Uni;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class TileCacheTest {

    private static final Duration LIMIT = Duration.ofSeconds(10);

    private final TileCache tiles = new TileCache(new SimpleMeterRegistry());
    private final UUID project = UUID.randomUUID();

    private static Tile tile(int index, int width) {
        return new Tile(0, index, width);
    }

    private static List<Hash> hashes(long count) {
        return Collections.nCopies((int) count, Hash.EMPTY_TREE);
    }

    @Test
    void aReadMayUseOtherCachedTiles() {
        Uni<List<Hash>> read = tiles.partial(project, tile(0, 7), () -> {
            Uni<List<Hash>> entries = Uni.createFrom().item(List.of());
            // enough tiles that the cache grows meanwhile
            for (int index = 0; index < 1_000; index++) {
                entries = tiles.partialEntries(
                        project, tile(index, 7), begun -> Uni.createFrom().item(hashes(7 - begun)));
            }
            return entries;
        });
        assertThat(read.await().atMost(LIMIT)).hasSize(7);
    }

    @Test
    void recordsAreHashedOnceAndFailedOnesAgain() {
        List<Long> begun = new ArrayList<>();
        for (int width : new int[] {5, 3, 5, 9}) {
            assertThat(tiles.partialEntries(project, tile(0, width), from -> {
                                begun.add(from);
                                return Uni.createFrom().item(hashes(width - from));
                            })
                            .await()
                            .atMost(LIMIT))
                    .hasSizeGreaterThanOrEqualTo(width);
        }
        assertThat(begun).containsExactly(0L, 5L);
        IllegalStateException failure = new IllegalStateException("the connection is gone");
        assertThat(tiles.partialEntries(
                                project, tile(0, 20), from -> Uni.createFrom().failure(failure))
                        .onFailure()
                        .recoverWithItem(List.of())
                        .await()
                        .atMost(LIMIT))
                .isEmpty();
        assertThat(tiles.partialEntries(
                                project, tile(0, 20), from -> Uni.createFrom().item(hashes(20 - from)))
                        .await()
                        .atMost(LIMIT))
                .hasSize(20);
    }
}
