package dev.annals.tools.bucket;

import dev.annals.edges.delivery.HttpExchange;
import dev.annals.edges.delivery.S3Requests;
import io.vertx.core.http.HttpMethod;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** An object that is written part by part, with a checksum of each. The store shows it once it is finished. */
public final class Upload extends OutputStream {

    static final Pattern ID = Pattern.compile("<UploadId>([!-;=?-~]{1,1024})</UploadId>");
    private static final String UPLOAD_ID = "uploadId";
    private static final int MOST_PARTS = 10_000;
    private static final int EXISTS = 412;

    private final Bucket bucket;
    private final String key;
    private final String id;
    private final StringBuilder parts = new StringBuilder();
    private final MessageDigest digest;
    private byte[] part = new byte[Bucket.PART];
    private int length;
    private int count;
    private boolean ended;

    Upload(Bucket bucket, String key, @Nullable ObjectLock lock) throws IOException {
        this.bucket = bucket;
        this.key = key;
        Map<String, String> headers =
                new HashMap<>(Map.of("content-type", "application/gzip", "x-amz-checksum-algorithm", "SHA256"));
        if (lock != null) {
            headers.putAll(lock.headers());
        }
        HttpExchange.Answer answer =
                bucket.require(bucket.ask(HttpMethod.POST, key, Map.of("uploads", ""), headers, new byte[0]), 200);
        Matcher found = ID.matcher(Bucket.text(answer));
        if (!found.find()) {
            throw new IOException("The store began no upload of " + bucket.shown(key) + ".");
        }
        this.id = found.group(1);
        try {
            this.digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int count) throws IOException {
        int at = offset;
        while (at < offset + count) {
            if (length == part.length) {
                send();
            }
            int some = Math.min(part.length - length, offset + count - at);
            System.arraycopy(bytes, at, part, length, some);
            length += some;
            at += some;
        }
    }

    private void send() throws IOException {
        if (++count > MOST_PARTS) {
            throw new IOException("The object " + bucket.shown(key) + " has too many bytes: write fewer --records.");
        }
        byte[] body = length == part.length ? part : Arrays.copyOf(part, length);
        digest.update(body);
        HttpExchange.Answer answer = bucket.require(
                bucket.ask(
                        HttpMethod.PUT,
                        key,
                        Map.of("partNumber", Integer.toString(count), UPLOAD_ID, id),
                        Map.of(),
                        body),
                200);
        String etag = answer.headers().get("etag");
        if (etag == null) {
            throw new IOException("The store did not confirm a part of " + bucket.shown(key) + ".");
        }
        parts.append("<Part><PartNumber>")
                .append(count)
                .append("</PartNumber><ETag>")
                .append(etag.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;"))
                .append("</ETag><ChecksumSHA256>")
                .append(Base64.getEncoder().encodeToString(S3Requests.sha256(body)))
                .append("</ChecksumSHA256></Part>");
        length = 0;
    }

    /**
     * Makes the object.
     *
     * @return its SHA-256 in hexadecimal digits; null if another object has the name
     */
    public @Nullable String finish() throws IOException {
        send();
        byte[] body = ("<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" + parts
                        + "</CompleteMultipartUpload>")
                .getBytes(StandardCharsets.UTF_8);
        HttpExchange.Answer answer =
                bucket.ask(HttpMethod.POST, key, Map.of(UPLOAD_ID, id), Map.of("if-none-match", "*"), body);
        String sha256 = HexFormat.of().formatHex(digest.digest());
        if (answer.status() == EXISTS || (answer.status() == 404 && bucket.find(key) != null)) {
            // Another process made it, or a repeated request found its upload finished: the caller reads it back.
            return null;
        }
        bucket.require(answer, 200);
        if (!Bucket.text(answer).contains("CompleteMultipartUploadResult")) {
            throw new IOException("The store did not make the object " + bucket.shown(key) + " of its parts.");
        }
        ended = true;
        return sha256;
    }

    /** Removes the parts of an upload that did not finish. */
    @Override
    public void close() throws IOException {
        part = new byte[0];
        if (!ended) {
            ended = true;
            bucket.ask(HttpMethod.DELETE, key, Map.of(UPLOAD_ID, id), Map.of(), new byte[0]);
        }
    }
}
