package dev.annals.kernel.guid;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class SequentialGuidTest {

    private static final long START = Instant.parse("2026-03-01T12:00:00Z").toEpochMilli();

    private final TestClock clock = new TestClock();
    private final SequentialGuid guids = new SequentialGuid(clock);

    /** A clock that moves only when the test moves it. */
    private static final class TestClock implements InstantSource {
        private final AtomicLong micros = new AtomicLong(START * 1000);

        @Override
        public Instant instant() {
            long now = micros.get();
            return Instant.ofEpochSecond(Math.floorDiv(now, 1_000_000L), Math.floorMod(now, 1_000_000L) * 1000);
        }

        void move(long milliseconds) {
            micros.addAndGet(milliseconds * 1000);
        }
    }

    @Test
    void everyKeyIsAVersion7UuidThatCarriesTheClock() {
        UUID key = guids.next();
        assertThat(key.version()).isEqualTo(7);
        assertThat(key.variant()).isEqualTo(2);
        assertThat(milliseconds(key)).isEqualTo(START);
    }

    @Test
    void neitherTheKeysBeforeNorAnotherGeneratorTellTheNextKey() {
        SequentialGuid other = new SequentialGuid(clock);
        List<UUID> keys = take(10_000);
        Set<Long> ends = new HashSet<>();
        int[] ones = new int[62];
        for (UUID key : keys) {
            long end = key.getLeastSignificantBits();
            ends.add(end);
            ends.add(other.next().getLeastSignificantBits());
            for (int bit = 0; bit < ones.length; bit++) {
                ones[bit] += (int) (end >>> bit & 1);
            }
        }
        assertThat(ends).hasSize(20_000);
        // Ten standard deviations of a fair coin.
        assertThat(IntStream.of(ones)).allMatch(count -> count > 4_500 && count < 5_500);
    }

    @Test
    void theEndOfAKeyIsSipHashAsItsAuthorsHaveIt() {
        SipHash hash = new SipHash(0x0706050403020100L, 0x0f0e0d0c0b0a0908L);
        assertThat(hash.of(0x0706050403020100L)).isEqualTo(0x93f5f5799a932462L);
    }

    @Test
    void theFractionOfAMillisecondIsCarriedToo() {
        clock.micros.addAndGet(250);
        assertThat(guids.next().getMostSignificantBits() & 0xFFF).isEqualTo(1024);
        clock.micros.addAndGet(500);
        assertThat(guids.next().getMostSignificantBits() & 0xFFF).isEqualTo(3072);
    }

    @Test
    void keysIncreaseWhileTheClockStandsStill() {
        assertIncreasing(take(20_000));
    }

    @Test
    void keysStayValidWhereTheFractionOverflowsIntoTheMilliseconds() {
        List<UUID> keys = take(4097);
        assertThat(keys).allMatch(key -> key.version() == 7 && key.variant() == 2);
        assertThat(milliseconds(keys.get(4095))).isEqualTo(START);
        assertThat(milliseconds(keys.get(4096))).isEqualTo(START + 1);
    }

    @Test
    void keysNeverGoBackWhenTheClockJumpsBack() {
        List<UUID> keys = take(10);
        clock.move(-3_600_000);
        keys.addAll(take(10));
        clock.move(1_000);
        keys.addAll(take(10));
        assertIncreasing(keys);
        assertThat(milliseconds(keys.get(29))).isEqualTo(START);
    }

    @Test
    void aKeyIsNeverBehindTheClock() {
        guids.next();
        for (int i = 0; i < 1_000; i++) {
            clock.move(7);
            assertThat(milliseconds(guids.next())).isEqualTo(clock.instant().toEpochMilli());
        }
    }

    @Test
    void aLeadOverTheClockIsGivenBackOnceTheClockHasPassedIt() {
        List<UUID> keys = take(40_960);
        assertThat(milliseconds(keys.get(40_959))).isEqualTo(START + 9);
        clock.move(5);
        UUID whileAhead = guids.next();
        assertThat(milliseconds(whileAhead)).isEqualTo(START + 10);
        clock.move(20);
        assertThat(milliseconds(guids.next())).isEqualTo(START + 25);
    }

    @Test
    void aClockBefore1970DoesNotBreakTheLayout() {
        clock.micros.set(-5_000_000_000L);
        List<UUID> keys = take(100);
        assertIncreasing(keys);
        assertThat(keys).allMatch(key -> key.version() == 7 && key.variant() == 2 && milliseconds(key) == 0);
    }

    @Test
    void aBlockOfKeysIsReservedInOneStep() {
        UUID before = guids.next();
        SequentialGuid.Block block = guids.reserve(5_000);
        UUID after = guids.next();
        List<UUID> keys = new ArrayList<>(List.of(before));
        while (block.remaining() > 0) {
            keys.add(block.next());
        }
        keys.add(after);
        assertThat(keys).hasSize(5_002);
        assertIncreasing(keys);
        assertThat(tick(after) - tick(before)).isEqualTo(5_001);
    }

    @Test
    void aBlockCatchesUpWithTheClockAsAWhole() {
        guids.next();
        clock.move(60_000);
        SequentialGuid.Block block = guids.reserve(3);
        UUID first = block.next();
        assertThat(milliseconds(first)).isEqualTo(START + 60_000);
        block.next();
        UUID third = block.next();
        assertThat(tick(third)).isEqualTo(tick(first) + 2);
        assertThat(tick(guids.next())).isEqualTo(tick(first) + 3);
    }

    @Test
    void aBlockGivesNoMoreThanItsKeys() {
        SequentialGuid.Block block = guids.reserve(1);
        block.next();
        assertThat(block.remaining()).isZero();
        assertThatThrownBy(block::next)
                .isInstanceOf(NoSuchElementException.class)
                .hasMessage("All 1 keys of this block are taken");
    }

    @Test
    void aBlockOfNoneOrOfTooManyKeysIsRefused() {
        assertThatThrownBy(() -> guids.reserve(0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> guids.reserve(-1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> guids.reserve(SequentialGuid.MAX_BLOCK + 1))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(guids.reserve(SequentialGuid.MAX_BLOCK).remaining()).isEqualTo(SequentialGuid.MAX_BLOCK);
    }

    @Test
    void keysAreUniqueAndEachThreadSeesThemIncreaseWhileTheClockJumpsAbout() throws Exception {
        int threads = 8;
        int perThread = 40_000;
        CyclicBarrier start = new CyclicBarrier(threads + 1);
        ExecutorService pool = Executors.newFixedThreadPool(threads + 1);
        try {
            List<Future<List<UUID>>> draws = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                boolean inBlocks = i % 2 == 1;
                draws.add(pool.submit(drawing(start, perThread, inBlocks)));
            }
            Future<?> jumps = pool.submit(() -> {
                start.await();
                for (int i = 0; i < 20_000; i++) {
                    clock.move(i % 3 == 0 ? -11 : 7);
                }
                return null;
            });
            Set<UUID> all = new HashSet<>();
            for (Future<List<UUID>> draw : draws) {
                assertIncreasing(draw.get());
                all.addAll(draw.get());
            }
            jumps.get();
            assertThat(all).hasSize(threads * perThread);
            UUID last = guids.next();
            assertThat(all).allMatch(key -> SequentialGuid.compare(key, last) < 0);
        } finally {
            pool.shutdownNow();
        }
    }

    @Test
    void aKeyIsGreaterThanEveryKeyAnotherThreadHasDrawnBefore() throws Exception {
        AtomicLong turn = new AtomicLong();
        List<UUID> inTurn = new ArrayList<>();
        Callable<Void> even = () -> takeTurns(turn, 0, inTurn);
        Callable<Void> odd = () -> takeTurns(turn, 1, inTurn);
        ExecutorService pool = Executors.newFixedThreadPool(2);
        try {
            for (Future<Void> done : pool.invokeAll(List.of(even, odd))) {
                done.get();
            }
        } finally {
            pool.shutdownNow();
        }
        assertThat(inTurn).hasSize(4_000);
        assertIncreasing(inTurn);
    }

    @Test
    void twoGeneratorsNeverCollideThoughTheyDrawAtTheSameTime() {
        SequentialGuid one = new SequentialGuid();
        SequentialGuid other = new SequentialGuid();
        Set<UUID> all = new HashSet<>();
        for (int i = 0; i < 50_000; i++) {
            all.add(one.next());
            all.add(other.next());
        }
        assertThat(all).hasSize(100_000);
        assertThat(one.next().getLeastSignificantBits())
                .isNotEqualTo(other.next().getLeastSignificantBits());
    }

    @Test
    void keysThatFarOutnumberTheClocksTicksIncreaseAndCatchUpOnceTheClockHasPassedThem() {
        UUID last = guids.next();
        for (int i = 0; i < 2_000_000; i++) {
            UUID key = guids.next();
            if (SequentialGuid.compare(last, key) >= 0) {
                throw new AssertionError(last + " is not before " + key);
            }
            last = key;
        }
        assertThat(milliseconds(last)).isEqualTo(START + 2_000_000 / 4_096);
        clock.move(86_400_000);
        assertThat(milliseconds(guids.next())).isEqualTo(START + 86_400_000);
    }

    @Test
    void theSystemsClockIsFollowedToWithinAMillisecond() {
        SequentialGuid real = new SequentialGuid();
        for (int i = 0; i < 1_000; i++) {
            long before = System.currentTimeMillis();
            long drawn = milliseconds(real.next());
            assertThat(drawn).isBetween(before, System.currentTimeMillis() + 1);
        }
    }

    @Test
    void keysAreComparedByUnsignedBytes() {
        UUID low = UUID.fromString("019a9d5e-0000-7000-8000-000000000000");
        UUID high = UUID.fromString("f19a9d5e-0000-7000-8000-000000000000");
        UUID lowTail = UUID.fromString("019a9d5e-0000-7000-0000-000000000000");
        assertThat(SequentialGuid.compare(low, high)).isNegative();
        assertThat(SequentialGuid.compare(high, low)).isPositive();
        assertThat(SequentialGuid.compare(lowTail, low)).isNegative();
        assertThat(SequentialGuid.compare(low, low)).isZero();
        assertThat(low.compareTo(high)).isPositive();
    }

    private Callable<List<UUID>> drawing(CyclicBarrier start, int count, boolean inBlocks) {
        return () -> {
            List<UUID> keys = new ArrayList<>(count);
            start.await();
            while (keys.size() < count) {
                if (inBlocks) {
                    SequentialGuid.Block block = guids.reserve(100);
                    while (block.remaining() > 0) {
                        keys.add(block.next());
                    }
                } else {
                    keys.add(guids.next());
                }
            }
            return keys;
        };
    }

    private Void takeTurns(AtomicLong turn, int parity, List<UUID> inTurn) {
        while (true) {
            long now = turn.get();
            if (now >= 4_000) {
                return null;
            }
            if (now % 2 == parity) {
                inTurn.add(guids.next());
                turn.set(now + 1);
            } else {
                Thread.onSpinWait();
            }
        }
    }

    private List<UUID> take(int count) {
        List<UUID> keys = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            keys.add(guids.next());
        }
        return keys;
    }

    private static void assertIncreasing(List<UUID> keys) {
        for (int i = 1; i < keys.size(); i++) {
            if (SequentialGuid.compare(keys.get(i - 1), keys.get(i)) >= 0) {
                throw new AssertionError(
                        "Key " + i + ", " + keys.get(i) + ", is not above the one before, " + keys.get(i - 1));
            }
        }
    }

    private static long milliseconds(UUID key) {
        return key.getMostSignificantBits() >>> 16;
    }

    private static long tick(UUID key) {
        return milliseconds(key) << 12 | (key.getMostSignificantBits() & 0xFFF);
    }
}
