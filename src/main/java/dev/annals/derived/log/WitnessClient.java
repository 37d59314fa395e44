package dev.annals.derived.log;

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
 * Speaks to one witness: {@code add-checkpoint} of C2SP tlog-witness. Whatever it answers, or does not: a call ends within the
 * time limit, takes a bounded answer, and follows no redirect. So many calls at once, and no more, are under way.
 */
final class WitnessClient {

    private static final Logger LOG = Logger.getLogger(WitnessClient.class);
    private static final int MOST_UNDER_WAY = 8;
    /** Room for sixteen cosignatures with long names. */
    private static final int MAX_ANSWER_BYTES = 32_768;
    /** How far a witness's clock may be from ours. */
    private static final Duration CLOCK_SKEW = Duration.ofMinutes(5);

    private static final Pattern SIZE = Pattern.compile("(0|[1-9][0-9]{0,17})\n?");

    private final Witness witness;
    private final HttpClient http;
    private final Duration limit;
    private final AtomicInteger underWay = new AtomicInteger();

    WitnessClient(Witness witness, Vertx vertx, Duration limit) {
        this.witness = witness;
        this.limit = limit;
        boolean tls = witness.url().getScheme().equals("https");
        this.http = vertx.createHttpClient(new HttpClientOptions()
                .setSsl(tls)
                .setVerifyHost(tls)
                .setMaxPoolSize(MOST_UNDER_WAY)
                .setMaxWaitQueueSize(MOST_UNDER_WAY)
                .setConnectTimeout((int) limit.toMillis()));
    }

    /** What came of a call. */
    sealed interface Answer {

        /** It has cosigned: the line of the note, with its newline. */
        record Cosigned(String line, Instant at) implements Answer {}

        /** The newest checkpoint that it has cosigned is of another size. */
        record HasOther(long size) implements Answer {}

        /** It says that the log does not continue what it has cosigned. */
        record Forked(String why) implements Answer {}

        /** It does not cosign this log: asking again soon is of no use. */
        record Refused(String why) implements Answer {}

        /** There was no answer, or none that can be used. */
        record Failed(String why) implements Answer {}

        /** It has not been asked, because so many other calls are under way. */
        record Busy() implements Answer {}
    }

    void close() {
        http.close();
    }

    /**
     * Offers a checkpoint.
     *
     * @param old the size of the newest checkpoint that the witness has cosigned, as far as is known
     * @param proof that the checkpoint continues it
     * @param note the checkpoint
     * @param size of the checkpoint
     * @return never fails
     */
    Uni<Answer> offer(long old, List<Hash> proof, Note note, long size) {
        if (underWay.incrementAndGet() > MOST_UNDER_WAY) {
            underWay.decrementAndGet();
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
                .eventually(underWay::decrementAndGet);
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
                    // A connection that is not at its end cannot be used again.
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

    /** More than any witness has to say. */
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
        // C2SP has no other cause for a conflict of equal sizes.
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

    /** What may be shown of a failure: neither addresses nor what somebody else has written. */
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
