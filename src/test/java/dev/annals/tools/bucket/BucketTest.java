package dev.annals.tools.bucket;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A hostile store can make commands fail, but cannot hide objects from them, keep them busy, or lead them elsewhere. */
@Timeout(60)
class BucketTest {

    private static final String SECRET = "wJalrXUtnFEMI/K7MDENG";
    private static final int MOST = 40;

    private final List<String> asked = new CopyOnWriteArrayList<>();
    private HttpServer store;
    private Bucket bucket;
    private volatile Function<HttpExchange, String> answer = request -> "";
    private volatile int status = 200;

    @BeforeEach
    void start() throws IOException {
        store = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        store.createContext("/", request -> {
            try (request) {
                request.getRequestBody().readAllBytes();
                asked.add(request.getRequestMethod() + " " + request.getRequestURI());
                byte[] body = answer.apply(request).getBytes(UTF_8);
                boolean isHead = request.getRequestMethod().equals("HEAD");
                request.sendResponseHeaders(status, isHead || body.length == 0 ? -1 : body.length);
                if (!isHead) {
                    request.getResponseBody().write(body);
                }
            }
        });
        store.start();
        // A bucket with a name that is in the host, too.
        bucket = new Bucket(base() + "/127/audit", "AKIDEXAMPLE:" + SECRET);
    }

    @AfterEach
    void stop() {
        bucket.close();
        store.stop(0);
    }

    private String base() {
        return "s3+http://127.0.0.1:" + store.getAddress().getPort();
    }

    private void assertFails(String says, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOf(IOException.class)
                .hasMessageContaining(says)
                .message()
                .doesNotContain(SECRET)
                .hasSizeLessThan(2_000);
    }

    private static String page(boolean isTruncated, String... keys) {
        StringBuilder page = new StringBuilder("<ListBucketResult><IsTruncated>" + isTruncated + "</IsTruncated>");
        for (String key : keys) {
            page.append("<Contents><Key>").append(key).append("</Key></Contents>");
        }
        return page.append("</ListBucketResult>").toString();
    }

    @Test
    void anObjectIsShownWithItsWholePath() {
        assertThat(bucket.shown("audit/a.gz")).isEqualTo(base() + "/127/audit/a.gz");
    }

    @Test
    void aListThatEndsBeforeItsEndIsAFailure() throws IOException {
        answer = request -> page(false, "audit/1", "audit/2");
        assertThat(bucket.list("audit/", MOST)).containsExactly("audit/1", "audit/2");
        answer = request -> page(true, "audit/1", "audit/2");
        assertFails("does not list all objects", () -> bucket.list("audit/", MOST));
        answer = request -> page(true, "audit/a name with spaces");
        assertFails("does not list all objects", () -> bucket.list("audit/", MOST));
        answer = request -> "<html>Please sign in</html>";
        assertFails("does not list all objects", () -> bucket.list("audit/", MOST));
    }

    @Test
    void aListWithoutEndIsLeft() {
        AtomicInteger count = new AtomicInteger();
        answer = request -> page(true, "audit/" + count.incrementAndGet());
        assertFails("more than " + MOST + " objects", () -> bucket.list("audit/", MOST));
        assertThat(asked).hasSize(MOST + 1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/etc/passwd", "../audit/1", "other/1"})
    void keysOutsideOfThePrefixAreRefused(String key) {
        answer = request -> page(false, "audit/1", key);
        assertFails("among the objects in", () -> bucket.list("audit/", MOST));
        answer = request -> "<Upload><Key>" + key + "</Key><UploadId>1</UploadId></Upload>";
        assertFails("among the objects in", () -> bucket.abortUploads("audit/"));
        assertThat(asked).noneMatch(request -> request.startsWith("DELETE"));
    }

    @Test
    void entitiesAreNotExpanded() throws IOException {
        answer = request -> "<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\"><!ENTITY b \"&a;&a;\">]>"
                + page(false, "audit/&b;", "audit/1");
        assertThat(bucket.list("audit/", MOST)).containsExactly("audit/1");
    }

    @Test
    void eightMebibytesOfUnfinishedUploadsAreReadOnce() throws IOException {
        String upload = "<Upload>";
        answer = request -> request.getRequestMethod().equals("GET")
                ? upload.repeat(Bucket.PART / upload.length() - 100) + "<Key>audit/1</Key><UploadId>u-1</UploadId>"
                : "";
        bucket.abortUploads("audit/");
        assertThat(asked).last().isEqualTo("DELETE /127/audit/1?uploadId=u-1");
        assertThat(asked).hasSize(2);
    }

    @Test
    void redirectsAreNotFollowed() {
        status = 307;
        answer = request -> {
            request.getResponseHeaders()
                    .set("Location", "http://127.0.0.1:" + store.getAddress().getPort() + "/there");
            return "";
        };
        assertFails("status 307. Redirects are not followed.", () -> bucket.list("audit/", MOST));
        assertFails("status 307. Redirects are not followed.", () -> bucket.find("audit/1"));
        assertThat(asked).hasSize(2);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 9, 11, Bucket.PART + 1})
    void anObjectHasAsManyBytesAsItSays(int bytes) throws IOException {
        Bucket.Stored object = new Bucket.Stored("audit/1", 10, "\"tag\"", null, null, Instant.EPOCH);
        status = 206;
        answer = request -> "x".repeat(10);
        assertThat(bucket.read(object).readAllBytes()).hasSize(10);
        answer = request -> "x".repeat(bytes);
        assertFails(" of 10 bytes of ", () -> bucket.read(object).readAllBytes());
        // All of it instead of the part that was asked for.
        status = 200;
        assertFails("status 200", () -> bucket.read(object).readAllBytes());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"/127/../other", "/127/a/..", "/127/a%0Ab", "/127/a\nb", "/127//a", "/127/%2E%2E", "/127/a?x=y"})
    void prefixesThatLeaveTheBucketAreRefused(String path) {
        assertThatIllegalArgumentException().isThrownBy(() -> new Bucket(base() + path, "AKIDEXAMPLE:" + SECRET));
    }
}
