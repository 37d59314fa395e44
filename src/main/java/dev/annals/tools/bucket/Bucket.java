package dev.annals.tools.bucket;

import dev.annals.edges.delivery.AwsAnswers;
import dev.annals.edges.delivery.AwsCredentials;
import dev.annals.edges.delivery.HttpExchange;
import dev.annals.edges.delivery.S3Credentials;
import dev.annals.edges.delivery.S3Requests;
import dev.annals.edges.delivery.S3Url;
import dev.annals.follower.Pauses;
import dev.annals.follower.Unavailable;
import io.smallrye.mutiny.Uni;
import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.file.FileSystemOptions;
import io.vertx.core.http.HttpMethod;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A bucket of an S3-compatible store. Its methods block, and repeat a request with growing pauses while the store does not answer, or
 * says that it or the source of the keys can answer later. Objects are read and written in parts of {@link #PART} bytes.
 */
public final class Bucket implements AutoCloseable {

    /** Bytes. A store accepts at most 10,000 parts, each but the last of at least 5 MiB. */
    static final int PART = 8 * 1_048_576;

    private static final int PAGE = 1_000;
    /** For one request, as on a slow line with a whole part. */
    private static final Duration LIMIT = Duration.ofMinutes(2);
    /** The time to repeat a request. */
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private static final Pattern KEY = Pattern.compile("<Key>([0-9A-Za-z./=_-]{1,1024})</Key>");
    static final String LOCK_MODE = "x-amz-object-lock-mode";
    static final String LOCKED_UNTIL = "x-amz-object-lock-retain-until-date";

    private final Vertx vertx;
    private final S3Requests requests;
    private final S3Url url;
    private final String shown;
    private Duration patience = PATIENCE;

    /** @param secret as in {@link S3Credentials#TEXT}; null for the keys of this process */
    Bucket(String text, @Nullable String secret) {
        this.url = S3Url.parse(text);
        requireTls(url);
        this.shown = "s3+" + url.endpoint().getScheme() + "://" + url.endpoint().getRawAuthority() + "/" + url.bucket();
        this.vertx = Vertx.vertx(new VertxOptions()
                .setEventLoopPoolSize(1)
                .setFileSystemOptions(
                        new FileSystemOptions().setFileCachingEnabled(false).setClassPathResolvingEnabled(false)));
        S3Credentials credentials = secret == null ? new AwsCredentials(vertx) : S3Credentials.of(secret);
        this.requests = new S3Requests(vertx, url, credentials, LIMIT);
    }

    private static void requireTls(S3Url url) {
        try {
            if ("http".equals(url.endpoint().getScheme())
                    && !InetAddress.getByName(url.endpoint().getHost()).isLoopbackAddress()) {
                throw new IllegalArgumentException("s3+http is for this machine's loopback alone: use s3+https.");
            }
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("The host of " + url.endpoint() + " is not known.", e);
        }
    }

    /** The name of the bucket. */
    public String name() {
        return url.bucket();
    }

    /** The prefix in the URL: empty, or with a slash at its end. */
    public String prefix() {
        return url.prefix();
    }

    /** The URL of an object, for people. */
    public String shown(String key) {
        return shown + "/" + key;
    }

    /**
     * An object in the store.
     *
     * @param etag changes with its bytes
     * @param lockMode GOVERNANCE or COMPLIANCE; null if the store shows no lock
     */
    public record Stored(
            String key,
            long bytes,
            String etag,
            @Nullable String lockMode,
            @Nullable Instant lockedUntil,
            Instant modified) {}

    /** The object, or null if there is none. */
    public @Nullable Stored find(String key) throws IOException {
        HttpExchange.Answer answer = ask(() -> requests.head(key));
        if (answer.status() == 404) {
            return null;
        }
        MultiMap headers = require(answer, 200).headers();
        try {
            String until = headers.get(LOCKED_UNTIL);
            return new Stored(
                    key,
                    Long.parseLong(headers.get("content-length")),
                    Objects.requireNonNullElse(headers.get("etag"), ""),
                    headers.get(LOCK_MODE),
                    until == null ? null : Instant.parse(until),
                    DateTimeFormatter.RFC_1123_DATE_TIME.parse(headers.get("last-modified"), Instant::from));
        } catch (NumberFormatException | DateTimeException | NullPointerException e) {
            throw new IOException("The store's answer for " + shown(key) + " is not that of S3.", e);
        }
    }

    /**
     * Keys with a prefix, in their order. Keys with other characters than ASCII letters, digits and {@code ./=_-} are left out.
     *
     * @throws IOException also if there are more than {@code most}, or if the store does not list all of them
     */
    public List<String> list(String prefix, int most) throws IOException {
        List<String> keys = new ArrayList<>();
        String after = "";
        while (true) {
            String last = after;
            String page = text(require(ask(() -> requests.list(prefix, last, PAGE)), 200));
            for (Matcher key = KEY.matcher(page); key.find(); ) {
                keys.add(requirePrefix(key.group(1), prefix));
            }
            if (keys.size() > most) {
                throw new IOException("There are more than " + most + " objects in " + shown(prefix)
                        + ": name a part of them, such as a year.");
            }
            if (page.contains("<IsTruncated>false<")) {
                return keys;
            }
            after = keys.isEmpty() ? "" : keys.get(keys.size() - 1);
            if (after.equals(last)) {
                throw new IOException("The store does not list all objects in " + shown(prefix)
                        + ", or a thousand of them in a row are no archives.");
            }
        }
    }

    private String requirePrefix(String key, String prefix) throws IOException {
        if (!key.startsWith(prefix)) {
            throw new IOException("The store lists " + shown(key) + " among the objects in " + shown(prefix) + ".");
        }
        return key;
    }

    /** Reads an object part by part. A change meanwhile fails the reading. */
    public InputStream read(Stored object) {
        return new Parts(object);
    }

    /** Reads the object of a key; it fails if there is none. */
    public InputStream read(String key) throws IOException {
        Stored object = find(key);
        if (object == null) {
            throw new NoSuchFileException(shown(key));
        }
        return read(object);
    }

    private final class Parts extends InputStream {

        private final Stored object;
        private byte[] part = new byte[0];
        private int at;
        private long next;

        Parts(Stored object) {
            this.object = object;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            if (length == 0) {
                return 0;
            }
            if (at == part.length) {
                if (next == object.bytes()) {
                    return -1;
                }
                fetch();
            }
            int count = Math.min(length, part.length - at);
            System.arraycopy(part, at, bytes, offset, count);
            at += count;
            return count;
        }

        private void fetch() throws IOException {
            long end = Math.min(object.bytes(), next + PART);
            Map<String, String> headers = Map.of("range", "bytes=" + next + "-" + (end - 1), "if-match", object.etag());
            HttpExchange.Answer answer = ask(HttpMethod.GET, object.key(), Map.of(), headers, new byte[0]);
            part = require(answer, 206).body().getBytes();
            if (part.length != end - next) {
                throw new IOException("The store answered with " + part.length + " of " + (end - next) + " bytes of "
                        + shown(object.key()) + ".");
            }
            at = 0;
            next = end;
        }
    }

    /**
     * Begins an object. It exists once it is finished, and replaces no other.
     *
     * @param lock null for none but the bucket's own
     */
    public Upload upload(String key, @Nullable ObjectLock lock) throws IOException {
        return new Upload(this, key, lock);
    }

    /** Removes the parts of uploads that did not finish. */
    public void abortUploads(String prefix) throws IOException {
        String page = text(require(ask(() -> requests.listUploads(prefix)), 200));
        for (String upload : page.split("<Upload>", -1)) {
            Matcher key = KEY.matcher(upload);
            Matcher id = Upload.ID.matcher(upload);
            if (key.find() && id.find()) {
                String found = requirePrefix(key.group(1), prefix);
                ask(HttpMethod.DELETE, found, Map.of("uploadId", id.group(1)), Map.of(), new byte[0]);
            }
        }
    }

    HttpExchange.Answer ask(
            HttpMethod method, String key, Map<String, String> parameters, Map<String, String> headers, byte[] body)
            throws IOException {
        return ask(() -> requests.send(method, key, parameters, headers, Buffer.buffer(body)));
    }

    /** Repeats a request until the store has an answer. Each attempt is signed anew. */
    private HttpExchange.Answer ask(Supplier<Uni<HttpExchange.Answer>> request) throws IOException {
        Pauses pauses = new Pauses();
        long begun = System.nanoTime();
        while (true) {
            String why;
            String after = null;
            try {
                HttpExchange.Answer answer = request.get().await().indefinitely();
                if (!AwsAnswers.isTemporary(answer)) {
                    return answer;
                }
                why = AwsAnswers.why(answer);
                after = answer.headers().get("retry-after");
            } catch (S3Credentials.NoCredentialsException e) {
                if (!e.isTemporary()) {
                    throw new IOException(e.getMessage(), e);
                }
                why = String.valueOf(e.getMessage());
            } catch (RuntimeException e) {
                why = requests.explain(e);
            }
            if (System.nanoTime() - begun >= patience.toNanos()) {
                patience = Duration.ZERO;
                throw new IOException(
                        "Given up: the store at " + shown + " failed for " + PATIENCE.toSeconds() + " seconds. " + why);
            }
            try {
                Thread.sleep(pauses.after(new Unavailable(why, after, null)).toMillis());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException();
            }
        }
    }

    HttpExchange.Answer require(HttpExchange.Answer answer, int status) throws IOException {
        if (answer.status() != status) {
            throw new IOException("The store at " + shown + " refuses. " + AwsAnswers.why(answer));
        }
        return answer;
    }

    static String text(HttpExchange.Answer answer) {
        return answer.body().toString(StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }
}
