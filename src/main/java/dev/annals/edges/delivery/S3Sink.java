package dev.annals.edges.delivery;

import dev.annals.core.feed.Cursor;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import dev.annals.derived.log.Checkpoints;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.ProblemException;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.BiConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.commons.compress.compressors.gzip.GzipCompressorOutputStream;
import org.apache.commons.compress.compressors.gzip.GzipParameters;
import org.jspecify.annotations.Nullable;

/**
 * Objects in an S3-compatible store. Each object contains the records of one batch as compressed lines of JSON. Each record is in exactly
 * one object of a generation; a rewind begins the next generation.
 *
 * <p>The name of an object is the first sequence id after the object before it, and objects are never overwritten. The objects are
 * therefore a chain in which each link is written once. A second writer finds the name taken, looks for the end of the chain and goes on
 * there. The cursor in the service's database only tells where to begin to look.
 *
 * <p>The comment in the head of the gzip file is JSON: the cursors before and after the records, the name and the digest of the previous
 * object, and the newest checkpoint of the project's log. The digest covers it.
 */
final class S3Sink implements Sink {

    private static final String SUFFIX = ".ndjson.gz";
    private static final String CURSOR = "x-amz-meta-annals-cursor";
    private static final String DIGEST = "x-amz-meta-annals-sha256";
    private static final Pattern HEX = Pattern.compile("[0-9a-f]{64}");
    private static final int PAGE = 100;
    private static final long FIRST_WINDOW = 1_024;
    private static final int GROWTH = 8;
    private static final int EXISTS = 412;

    private final NamedStream stream;
    private final S3Requests requests;
    private final Checkpoints checkpoints;
    private final Vertx vertx;
    private final Duration limit;
    private final String folder;
    private final Pattern listed;
    private volatile @Nullable LastObject last;

    /**
     * @param name of the object, in its folder
     * @param digest SHA-256 of its bytes
     * @param cursor after its last record
     */
    private record LastObject(String name, String digest, Cursor cursor) {}

    /** @param digest SHA-256, in hexadecimal digits */
    private record Body(Buffer bytes, String digest) {

        static Body of(byte[] bytes) {
            return new Body(Buffer.buffer(bytes), S3Requests.hex(S3Requests.sha256(bytes)));
        }
    }

    S3Sink(
            NamedStream stream,
            S3Credentials credentials,
            HttpExchange http,
            Checkpoints checkpoints,
            Vertx vertx,
            Duration limit) {
        this.stream = stream;
        this.checkpoints = checkpoints;
        this.vertx = vertx;
        this.limit = limit;
        S3Url url = S3Url.parse(stream.url());
        this.requests = new S3Requests(http, url, credentials);
        this.folder = url.prefix() + stream.projectId() + "/" + stream.id() + "/"
                + String.format(Locale.ROOT, "%06d", stream.progress().rewinds()) + "/";
        this.listed =
                Pattern.compile("<Key>" + Pattern.quote(folder) + "([0-9]{18})" + Pattern.quote(SUFFIX) + "</Key>");
    }

    static void check(String url, @Nullable String secret, BiConsumer<String, String> wrong) {
        try {
            S3Url.parse(url);
        } catch (IllegalArgumentException e) {
            wrong.accept("url", S3Url.FORM);
        }
        if (secret != null && !S3Credentials.TEXT.matcher(secret).matches()) {
            wrong.accept("secret", "It must be the access key, a colon, and the secret key.");
        }
    }

    static String host(String url) {
        return HttpExchange.host(S3Url.parse(url).endpoint());
    }

    @Override
    public Uni<Cursor> begin(Cursor known) {
        return find(known.sequenceId(), FIRST_WINDOW)
                .chain(name -> name == null ? probe(Body.of(new byte[0])).map(done -> known) : at(name, known))
                .ifNoItem()
                .after(limit)
                .fail();
    }

    /** Keys can only be listed forwards, so the search begins a little before the stream's cursor, then further back. */
    private Uni<@Nullable String> find(long near, long window) {
        long from = Math.max(0, near - window);
        return lastBehind(name(from), null)
                .chain(found ->
                        found != null || from == 0 ? Uni.createFrom().item(found) : find(near, window * GROWTH));
    }

    private static String name(long number) {
        return String.format(Locale.ROOT, "%018d", number);
    }

    private Uni<@Nullable String> lastBehind(String after, @Nullable String found) {
        return requests.list(folder, folder + after, PAGE).chain(answer -> {
            require(answer, 200);
            String page = answer.body().toString(StandardCharsets.UTF_8);
            String newest = found;
            for (Matcher key = listed.matcher(page); key.find(); ) {
                newest = key.group(1) + SUFFIX;
            }
            return newest == null || newest.equals(found) || page.contains("<IsTruncated>false<")
                    ? Uni.createFrom().item(newest)
                    : lastBehind(newest, newest);
        });
    }

    private Uni<Cursor> at(String name, Cursor known) {
        return requests.head(folder + name).map(answer -> {
            require(answer, 200);
            String cursor = Optional.ofNullable(answer.headers().get(CURSOR)).orElse("");
            String digest = Optional.ofNullable(answer.headers().get(DIGEST)).orElse("");
            Cursor end = Cursor.parse(cursor).orElse(null);
            if (end == null || !HEX.matcher(digest).matches()) {
                throw new SinkException(
                        "The object " + folder + name + " lacks the metadata that the service wrote with it.");
            }
            last = new LastObject(name, digest, end);
            // Records that did not match the filter are in no object, and the stream may be after the last object.
            return end.sequenceId() >= known.sequenceId() ? end : known;
        });
    }

    /** Checks, before the first object of a chain, that the store does not overwrite: records could be lost. */
    private Uni<Void> probe(Body object) {
        Buffer body = object.bytes();
        String digest = object.digest();
        String key = folder + "test-" + UUID.randomUUID();
        return requests.putNew(key, Map.of(), body, digest)
                .invoke(answer -> require(answer, 200))
                .chain(put -> requests.putNew(key, Map.of(), body, digest))
                .call(second -> requests.delete(key).onFailure().recoverWithNull())
                .invoke(second -> {
                    if (second.status() / 100 == 2) {
                        throw new SinkException("It overwrites an object in spite of If-None-Match: *, so that records"
                                + " could be lost. Use a store with conditional writes.");
                    }
                    require(second, EXISTS);
                })
                .replaceWithVoid();
    }

    private static void require(HttpExchange.Answer answer, int status) {
        if (answer.status() != status) {
            throw new SinkException(AwsAnswers.why(answer));
        }
    }

    @Override
    public Uni<Outcome> test(Batch batch) {
        return compressed(batch, null)
                .chain(this::probe)
                .<Outcome>map(done -> new Outcome.Delivered("An object was put there, not overwritten, and deleted."))
                .ifNoItem()
                .after(limit)
                .fail()
                .onFailure()
                .recoverWithItem(failure -> new Outcome.Failed(explain(failure), null));
    }

    @Override
    public Uni<Outcome> deliver(Batch batch) {
        if (batch.records().isEmpty()) {
            return Uni.createFrom().item(Outcome.NOTHING);
        }
        return checkpoints
                .note(stream.projectId(), batch.after().sequenceId())
                .chain(note -> compressed(batch, note))
                .chain(body -> put(batch, body))
                .ifNoItem()
                .after(limit)
                .fail()
                .onFailure()
                .recoverWithItem(failure -> new Outcome.Failed(explain(failure), null));
    }

    private Uni<Outcome> put(Batch batch, Body body) {
        LastObject before = last;
        String name = name(before == null ? 1 : before.cursor().sequenceId() + 1) + SUFFIX;
        Map<String, String> headers =
                Map.of("content-type", "application/gzip", CURSOR, batch.after().toString(), DIGEST, body.digest());
        return requests.putNew(folder + name, headers, body.bytes(), body.digest())
                .map(answer -> {
                    if (answer.status() == 200) {
                        last = new LastObject(name, body.digest(), batch.after());
                        return new Outcome.Delivered("It has the object " + folder + name + ".");
                    }
                    return answer.status() == EXISTS
                            ? new Outcome.Moved()
                            : new Outcome.Failed(
                                    AwsAnswers.why(answer), answer.failed().after());
                });
    }

    private Uni<Body> compressed(Batch batch, @Nullable String note) {
        String comment = comment(batch, note);
        return SinkLoops.blocking(vertx, () -> gzip(batch, comment));
    }

    private String comment(Batch batch, @Nullable String note) {
        LastObject before = last;
        return AsciiJson.of(new String(
                JsonBody.toBytes(1_024, json -> {
                    json.writeStartObject();
                    json.writeStringField("project_id", stream.projectId().toString());
                    json.writeStringField("stream", stream.name());
                    json.writeNumberField("generation", stream.progress().rewinds());
                    json.writeStringField("format", stream.format().text());
                    json.writeNumberField("records", batch.records().size());
                    json.writeStringField("behind", batch.before().toString());
                    json.writeStringField("up_to", batch.after().toString());
                    json.writeStringField("previous", before == null ? null : before.name());
                    json.writeStringField("previous_sha256", before == null ? null : before.digest());
                    json.writeStringField("checkpoint", note);
                    json.writeEndObject();
                }),
                StandardCharsets.UTF_8));
    }

    private static Body gzip(Batch batch, String comment) throws IOException {
        GzipParameters parameters = new GzipParameters();
        parameters.setComment(comment);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (GzipCompressorOutputStream gzip = new GzipCompressorOutputStream(bytes, parameters)) {
            for (EncodedRecord record : batch.records()) {
                record.writeTo(gzip);
            }
        }
        return Body.of(bytes.toByteArray());
    }

    @Override
    public String explain(Throwable failure) {
        if (failure instanceof SinkException answer) {
            return String.valueOf(answer.getMessage());
        } else if (failure instanceof ProblemException problem) {
            return "There is no checkpoint: " + problem.problem().detail();
        }
        return requests.explain(failure);
    }
}
