package dev.annals.core.feed;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.micrometer.core.instrument.Timer;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Context;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;

/**
 * Reads for many callers: those who ask for the same thing at the same time share one read, and the number of reads in
 * flight is limited, however many callers there are. As many reads may queue as there are callers.
 *
 * <p>A caller joins a read only if that read began, or will begin, after everything that the caller must see. The same holds
 * for reads that have ended: those who were woken by the same change, but come a moment later, get what was read for the
 * first of them. Safe for any thread.
 *
 * @param <K> what is asked for
 * @param <V> what is read
 */
final class ReadCoalescer<K, V> {

    /** Those who were woken together come within milliseconds, unless the service is busy. */
    private static final Duration KEPT = Duration.ofSeconds(10);

    private final Source<K, V> source;
    private final int atATime;
    private final Context context;
    private final Timer timer;
    /** The latest unfinished read of each key. */
    private final Map<K, Read<K, V>> latest = new HashMap<>();

    private final Queue<Read<K, V>> queue = new ArrayDeque<>();
    private final Cache<K, Ended<V>> ended;
    private final ToIntFunction<V> size;
    private int inFlight;

    /**
     * Reads nothing yet.
     *
     * @param source called on the context
     * @param atATime how many reads may be in flight
     * @param timer told how long each read took
     * @param size of what was read, in bytes; 0 if nobody can use it later
     * @param keptBytes how many bytes of ended reads are kept
     */
    ReadCoalescer(
            Source<K, V> source, int atATime, Context context, Timer timer, ToIntFunction<V> size, long keptBytes) {
        this.source = source;
        this.size = size;
        this.ended = Caffeine.newBuilder()
                .maximumWeight(keptBytes)
                .<K, Ended<V>>weigher((key, read) -> size.applyAsInt(read.value))
                .expireAfterWrite(KEPT)
                .build();
        this.atATime = atATime;
        this.context = context;
        this.timer = timer;
    }

    /** A read that has ended, for those who come too late to join it. */
    private record Ended<V>(V value, long beganAt) {}

    /** What reads. */
    interface Source<K, V> {
        /** Reads what a key asks for, at or after {@code beganAt}, a {@link System#nanoTime()}. */
        Uni<V> read(K key, long beganAt);
    }

    /**
     * Who asks.
     *
     * @param isGone whether the caller no longer wants the answer
     * @param got takes what was read
     * @param failed takes why nothing was
     */
    record Caller<V>(BooleanSupplier isGone, Consumer<V> got, Consumer<Throwable> failed) {}

    private static final class Read<K, V> {
        final K key;
        final List<Caller<V>> callers = new ArrayList<>();
        boolean began;
        long beganAt;

        Read(K key) {
            this.key = key;
        }

        boolean sees(long asOf) {
            return !began || beganAt - asOf >= 0;
        }
    }

    /**
     * Reads for a caller, who gets the result or the failure, once.
     *
     * @param asOf a {@link System#nanoTime()}: the result shows everything that was committed by then
     */
    void read(K key, long asOf, Caller<V> caller) {
        Ended<V> before = ended.getIfPresent(key);
        if (before != null && before.beganAt - asOf >= 0) {
            caller.got().accept(before.value);
        } else {
            join(key, asOf, caller);
        }
    }

    private synchronized void join(K key, long asOf, Caller<V> caller) {
        Read<K, V> read = latest.get(key);
        if (read == null || !read.sees(asOf)) {
            read = new Read<>(key);
            latest.put(key, read);
            if (inFlight < atATime) {
                inFlight++;
                begin(read);
            } else {
                queue.add(read);
            }
        }
        read.callers.add(caller);
    }

    private void begin(Read<K, V> read) {
        read.began = true;
        read.beganAt = System.nanoTime();
        context.runOnContext(now -> source.read(read.key, read.beganAt)
                .subscribe()
                .with(value -> got(read, value), failure -> failed(read, failure)));
    }

    private void got(Read<K, V> read, V value) {
        if (size.applyAsInt(value) > 0) {
            ended.put(read.key, new Ended<>(value, read.beganAt));
        }
        end(read);
        read.callers.forEach(caller -> caller.got().accept(value));
    }

    private void failed(Read<K, V> read, Throwable failure) {
        end(read);
        read.callers.forEach(caller -> caller.failed().accept(failure));
    }

    /** From here on no caller joins the read. */
    private synchronized void end(Read<K, V> read) {
        timer.record(System.nanoTime() - read.beganAt, TimeUnit.NANOSECONDS);
        latest.remove(read.key, read);
        Read<K, V> next = queue.poll();
        // Clients that have gone again must not leave work behind.
        while (next != null
                && next.callers.stream().allMatch(caller -> caller.isGone().getAsBoolean())) {
            latest.remove(next.key, next);
            next = queue.poll();
        }
        if (next == null) {
            inFlight--;
        } else {
            begin(next);
        }
    }
}
