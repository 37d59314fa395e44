package dev.annals.edges.delivery;

import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Requests to one bucket of an S3-compatible store, addressed by path. AWS Signature Version 4 signs the headers and the digest of the
 * body.
 */
public final class S3Requests {

    /** Base64 of the body's SHA-256, which the store compares. */
    public static final String CHECKSUM = "x-amz-checksum-sha256";

    private static final String ALGORITHM = "AWS4-HMAC-SHA256";
    private static final String HMAC = "HmacSHA256";
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);
    private static final int DATE_LENGTH = 8;
    private static final String NOTHING = hex(sha256(new byte[0]));

    private final HttpExchange http;
    private final URI endpoint;
    private final String bucket;
    private final String region;
    private final S3Credentials credentials;

    /** @param url its prefix is not used: keys are whole */
    S3Requests(HttpExchange http, S3Url url, S3Credentials credentials) {
        this.http = http;
        this.endpoint = url.endpoint();
        this.bucket = url.bucket();
        this.region = url.region();
        this.credentials = credentials;
    }

    /**
     * To any host that a command names; without TLS only on this machine.
     *
     * @param limit for each request
     */
    public S3Requests(Vertx vertx, S3Url url, S3Credentials credentials, Duration limit) {
        this(HttpExchange.anywhere(vertx, limit), url, credentials);
    }

    /**
     * The answer is 412 if the key exists.
     *
     * @param digest SHA-256 of the body, in hexadecimal digits
     */
    public Uni<HttpExchange.Answer> putNew(String key, Map<String, String> headers, Buffer body, String digest) {
        Map<String, String> all = new TreeMap<>(headers);
        all.put("if-none-match", "*");
        // A bucket that locks its objects requires it.
        all.put(CHECKSUM, Base64.getEncoder().encodeToString(HexFormat.of().parseHex(digest)));
        return send(HttpMethod.PUT, path(key), Map.of(), all, body, digest);
    }

    public Uni<HttpExchange.Answer> head(String key) {
        return send(HttpMethod.HEAD, path(key), Map.of(), Map.of(), Buffer.buffer(), NOTHING);
    }

    public Uni<HttpExchange.Answer> delete(String key) {
        return send(HttpMethod.DELETE, path(key), Map.of(), Map.of(), Buffer.buffer(), NOTHING);
    }

    /**
     * Another operation on an object.
     *
     * @param parameters of the query
     * @param headers with names in lower case
     * @param body of a PUT, goes with its checksum; may be empty
     */
    public Uni<HttpExchange.Answer> send(
            HttpMethod method, String key, Map<String, String> parameters, Map<String, String> headers, Buffer body) {
        byte[] digest = sha256(body.getBytes());
        Map<String, String> all = new TreeMap<>(headers);
        if (method.equals(HttpMethod.PUT)) {
            all.put(CHECKSUM, Base64.getEncoder().encodeToString(digest));
        }
        return send(method, path(key), parameters, all, body, hex(digest));
    }

    /** Incomplete uploads of objects with a prefix. */
    public Uni<HttpExchange.Answer> listUploads(String prefix) {
        return send(
                HttpMethod.GET,
                "/" + bucket,
                Map.of("prefix", prefix, "uploads", ""),
                Map.of(),
                Buffer.buffer(),
                NOTHING);
    }

    private String path(String key) {
        return "/" + bucket + "/" + encoded(key).replace("%2F", "/");
    }

    /** Keys with a prefix, in their order, after another key. */
    public Uni<HttpExchange.Answer> list(String prefix, String after, int most) {
        Map<String, String> query = new TreeMap<>(
                Map.of("list-type", "2", "max-keys", Integer.toString(most), "prefix", prefix, "start-after", after));
        return send(HttpMethod.GET, "/" + bucket, query, Map.of(), Buffer.buffer(), NOTHING);
    }

    private Uni<HttpExchange.Answer> send(
            HttpMethod method,
            String path,
            Map<String, String> parameters,
            Map<String, String> headers,
            Buffer body,
            String digest) {
        Function<S3Credentials.Keys, Uni<HttpExchange.Answer>> sent =
                keys -> http.send(signed(keys, method, path, parameters, headers, body, digest))
                        .map(AwsAnswers::withError);
        return credentials
                .keys()
                .chain(keys -> sent.apply(keys)
                        .chain(answer -> AwsAnswers.asksForOtherKeys(answer)
                                ? credentials
                                        .otherThan(keys)
                                        .chain(others -> others.equals(keys)
                                                ? Uni.createFrom().item(answer)
                                                : sent.apply(others))
                                : Uni.createFrom().item(answer)));
    }

    private HttpExchange.Request signed(
            S3Credentials.Keys keys,
            HttpMethod method,
            String path,
            Map<String, String> parameters,
            Map<String, String> headers,
            Buffer body,
            String digest) {
        String query = new TreeMap<>(parameters)
                .entrySet().stream()
                        .map(parameter -> parameter.getKey() + "=" + encoded(parameter.getValue()))
                        .collect(Collectors.joining("&"));
        String time = TIME.format(Instant.now());
        TreeMap<String, String> signed = new TreeMap<>(headers);
        signed.put("host", HttpExchange.authority(endpoint));
        signed.put("x-amz-content-sha256", digest);
        signed.put("x-amz-date", time);
        if (keys.sessionToken() != null) {
            signed.put("x-amz-security-token", keys.sessionToken());
        }
        String names = String.join(";", signed.keySet());
        String canonical = method.name() + "\n" + path + "\n" + query + "\n"
                + signed.entrySet().stream()
                        .map(header -> header.getKey() + ":" + header.getValue() + "\n")
                        .collect(Collectors.joining())
                + "\n" + names + "\n" + digest;
        String date = time.substring(0, DATE_LENGTH);
        String scope = date + "/" + region + "/s3/aws4_request";
        String text =
                ALGORITHM + "\n" + time + "\n" + scope + "\n" + hex(sha256(canonical.getBytes(StandardCharsets.UTF_8)));
        byte[] key = ("AWS4" + keys.secretKey()).getBytes(StandardCharsets.UTF_8);
        for (String part : new String[] {date, region, "s3", "aws4_request"}) {
            key = hmac(key, part);
        }
        Map<String, String> sent = new TreeMap<>(signed);
        // HttpExchange sends it.
        sent.remove("host");
        sent.put(
                "authorization",
                ALGORITHM + " Credential=" + keys.accessKey() + "/" + scope + ", SignedHeaders=" + names
                        + ", Signature=" + hex(hmac(key, text)));
        URI url = URI.create(endpoint.getScheme() + "://" + HttpExchange.authority(endpoint) + path
                + (query.isEmpty() ? "" : "?" + query));
        return new HttpExchange.Request(method, url, sent, body);
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8)
                .replace("+", "%20")
                .replace("*", "%2A")
                .replace("%7E", "~");
    }

    /** The reason why a request has no answer, for people; without a secret. */
    public String explain(Throwable failure) {
        if (failure instanceof S3Credentials.NoCredentialsException) {
            return String.valueOf(failure.getMessage());
        }
        return http.explain(failure);
    }

    public static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    public static byte[] sha256(byte[] bytes) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    private static byte[] hmac(byte[] key, String text) {
        try {
            Mac mac = Mac.getInstance(HMAC);
            mac.init(new SecretKeySpec(key, HMAC));
            return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has " + HMAC, e);
        }
    }
}
