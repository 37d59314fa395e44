package dev.annals.derived.log;

import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.proof.Hash;
import dev.annals.proof.Note;
import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.subscription.UniEmitter;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.RequestOptions;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Calls one witness: {@code add-checkpoint} of C2SP tlog-witness. A call ends within the time limit, reads a bounded answer and follows no
 * redirect; at most {@value #MAX_CALLS} run at once. After a failure the client backs off, longer after each further one.
 */
final class WitnessClient {

    private static final Logger LOG = Logger.getLogger(WitnessClient.class);
    private static final int MAX_CALLS = 8;
    /** Room for sixteen cosignatures with long names. */
    private static final int MAX_ANSWER_BYTES = 32_768;
    /** The most between a witness and this service. */
    private static final Duration CLOCK_SKEW = Duration.ofMinutes(5);

    private static final Pattern SIZE = Pattern.compile("(0|[1-9][0-9]{0,17})\n?");

    private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
    private static final Duration LONGEST_PAUSE = Duration.ofMinutes(5);

    private final Witness witness;
    private final HttpClient http;
    private final Duration limit;
    private final AtomicInteger calls = new AtomicInteger();
    /** True if the last answer arrived while an offer waits. */
    volatile boolean prompt = true;
    /** Failed calls in a row. */
    private volatile int failures;

    private volatile long pauseEnd;

    WitnessClient(Witness witness, Vertx vertx, Duration limit) {
        this.witness = witness;
        this.limit = limit;
        boolean tls = witness.url().getScheme().equals("https");
        this.http = vertx.createHttpClient(new HttpClientOptions()
                .setSsl(tls)
                .setVerifyHost(tls)
                .setMaxPoolSize(MAX_CALLS)
                .setMaxWaitQueueSize(MAX_CALLS)
                .setConnectTimeout((int) limit.toMillis()));
    }

    sealed interface Answer {

        /**
         * The witness has cosigned.
         *
         * @param line of the note, with its newline
         */
        record Cosigned(String line, Instant at) implements Answer {}

        /** The witness has cosigned a checkpoint of another size. */
        record HasOther(long size) implements Answer {}

        /** The witness says that the log does not continue what it has cosigned. */
        record Forked(String why) implements Answer {}

        /** The witness does not cosign this log, and would not soon. */
        record Refused(String why) implements Answer {}

        /** No answer, or an unusable one. */
        record Failed(String why) implements Answer {}

        /** Not asked, because {@value #MAX_CALLS} calls run. */
        record Busy() implements Answer {}
    }

    Witness witness() {
        return witness;
    }

    boolean isFailing() {
        return failures > 0;
    }

    boolean isBackingOff() {
        return failures > 0 && System.nanoTime() - pauseEnd < 0;
    }

    void close() {
        http.close();
    }

    /**
     * Offers a checkpoint.
     *
     * @param old the size of the newest checkpoint that the witness is known to have cosigned
     * @param proof that the checkpoint continues it
     * @return never fails
     */
    Uni<Answer> offer(long old, List<Hash> proof, Note note, long size) {
        if (calls.incrementAndGet() > MAX_CALLS) {
            calls.decrementAndGet();
            return Uni.createFrom().item(new Answer.Busy());
        }
        StringBuilder body = new StringBuilder("old ").append(old).append('\n');
        proof.forEach(hash -> body.append(hash).append('\n'));
        body.append('\n').append(note);
        return Uni.createFrom()
                .<Response>emitter(emitter -> post(body.toString(), emitter))
                .map(response -> read(response, old, note, size))
                .ifNoItem()
                .after(limit)
                .recoverWithItem(() -> new Answer.Failed("it did not answer within " + limit.toMillis() + " ms"))
                .onFailure()
                .recoverWithItem(failure -> new Answer.Failed(told(failure)))
                .invoke(this::noteOutcome)
                .eventually(calls::decrementAndGet);
    }

    private void noteOutcome(Answer answer) {
        if (!(answer instanceof Answer.Failed failed)) {
            failures = 0;
            return;
        }
        pauseEnd = System.nanoTime()
                + DatabaseFailure.backOff(FIRST_PAUSE, LONGEST_PAUSE, failures).toNanos();
        failures = Math.min(failures + 1, 1000);
        if (failures == 1) {
            LOG.warnf("The witness %s cannot be asked: %s", witness.name(), failed.why());
        }
    }

    private record Response(int status, String body) {}

    private void post(String body, UniEmitter<? super Response> emitter) {
        http.request(new RequestOptions()
                        .setMethod(HttpMethod.POST)
                        .setAbsoluteURI(witness.url().toString())
                        .setFollowRedirects(false)
                        .putHeader("Content-Type", "text/plain; charset=utf-8"))
                .onFailure(emitter::fail)
                .onSuccess(request -> {
                    AtomicBoolean isAnswered = new AtomicBoolean();
                    // A connection with an unread answer cannot be used again.
                    emitter.onTermination(() -> {
                        if (!isAnswered.get()) {
                            request.reset();
                        }
                    });
                    request.response()
                            .onFailure(emitter::fail)
                            .onSuccess(response -> collect(response, emitter, isAnswered));
                    request.send(body).onFailure(emitter::fail);
                });
    }

    private static void collect(
            HttpClientResponse response, UniEmitter<? super Response> emitter, AtomicBoolean isAnswered) {
        Buffer body = Buffer.buffer();
        response.exceptionHandler(emitter::fail);
        response.handler(part -> {
            if (body.length() + part.length() > MAX_ANSWER_BYTES) {
                // Ends the request as well.
                emitter.fail(new AnswerTooLong());
            } else {
                body.appendBuffer(part);
            }
        });
        response.endHandler(end -> {
            isAnswered.set(true);
            emitter.complete(new Response(response.statusCode(), body.toString()));
        });
    }

    private static final class AnswerTooLong extends Exception {

        private static final long serialVersionUID = 1;
    }

    private Answer read(Response response, long old, Note note, long size) {
        return switch (response.status) {
            case 200 -> cosignature(response.body, note);
            case 409 -> conflict(response.body, old, size);
            case 422 ->
                new Answer.Forked(
                        "the log of " + size + " records does not continue that of " + old + " which it has cosigned");
            case 403 -> new Answer.Refused("it does not know the log's key");
            case 404 -> new Answer.Refused("it does not know the log");
            case 400, 413 -> new Answer.Refused("it cannot read checkpoints of this log");
            default -> new Answer.Failed("it answered with HTTP status " + response.status);
        };
    }

    private static Answer conflict(String body, long old, long size) {
        if (SIZE.matcher(body).matches()) {
            long other = Long.parseLong(body.strip());
            if (other != old) {
                return new Answer.HasOther(other);
            }
        }
        // In C2SP, a conflict of equal sizes has no other cause.
        return old == size
                ? new Answer.Forked("it has cosigned other " + size + " records of this log")
                : new Answer.Failed("it knows of another checkpoint, and does not say which");
    }

    private Answer cosignature(String body, Note note) {
        List<String> lines = body.lines()
                .map(line -> line + "\n")
                .filter(witness.key()::isOf)
                .toList();
        if (lines.size() != 1) {
            return new Answer.Failed("it answered without one cosignature of its key");
        }
        Instant at;
        try {
            at = witness.key().cosigned(new Note(note.text(), lines)).orElseThrow();
        } catch (IllegalArgumentException e) {
            return new Answer.Failed("its cosignature does not hold");
        }
        return Duration.between(at, Instant.now()).abs().compareTo(CLOCK_SKEW) > 0
                ? new Answer.Failed("its cosignature is from another time: " + at)
                : new Answer.Cosigned(lines.get(0), at);
    }

    /** The part that readers may see: no address, and no text of the witness. */
    private String told(Throwable failure) {
        LOG.debugf(failure, "The witness %s cannot be asked", witness.name());
        for (Throwable cause = failure; cause != null; cause = cause(cause)) {
            if (cause instanceof AnswerTooLong) {
                return "its answer is longer than " + MAX_ANSWER_BYTES + " bytes";
            } else if (cause instanceof SSLException) {
                return "TLS fails: is its certificate trusted here?";
            } else if (cause instanceof UnknownHostException) {
                return "its host is not known";
            } else if (cause instanceof ConnectException) {
                return "no connection can be made";
            }
        }
        return "the connection broke";
    }

    private static @Nullable Throwable cause(Throwable failure) {
        return failure.getCause() == failure ? null : failure.getCause();
    }
}
