package dev.annals.tools.bucket;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.annals.BesideTheService;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A request that a store answers with a temporary fault is repeated, whatever status the fault has. */
@BesideTheService
@Timeout(120)
class BucketRepeatsTest {

    private static final String KEY = "audit/1.ndjson.gz";
    private static final int FAULTS = 2;

    private final List<String> asked = new CopyOnWriteArrayList<>();
    /** The operation with faults: the beginning of its method and query. */
    private volatile String faulty = "";

    private volatile int faults;
    private volatile int status;
    private volatile String fault = "";
    private HttpServer store;
    private Bucket bucket;

    @BeforeEach
    void start() throws Exception {
        store = HttpServer.create(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0), 0);
        store.createContext("/", this::answer);
        store.start();
        bucket = new Bucket(
                "s3+http://127.0.0.1:" + store.getAddress().getPort() + "/bucket?region=eu-central-1",
                "AKIDEXAMPLE:a-secret-key");
    }

    @AfterEach
    void stop() {
        bucket.close();
        store.stop(0);
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            byte[] unused = exchange.getRequestBody().readAllBytes();
            String request = exchange.getRequestMethod() + " "
                    + String.valueOf(exchange.getRequestURI().getQuery());
            asked.add(request);
            boolean isFault = request.startsWith(faulty) && faults-- > 0;
            byte[] body = (isFault ? fault : good(request)).getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("ETag", "\"etag\"");
            boolean isHead = request.startsWith("HEAD");
            exchange.sendResponseHeaders(
                    isFault ? status : isHead ? 404 : request.startsWith("DELETE") ? 204 : 200,
                    isHead || request.startsWith("DELETE") ? -1 : body.length);
            if (!isHead && !request.startsWith("DELETE")) {
                exchange.getResponseBody().write(body);
            }
        }
    }

    private static String good(String request) {
        return "<?xml version=\"1.0\"?>\n"
                + (request.startsWith("POST uploads")
                        ? "<InitiateMultipartUploadResult><UploadId>one</UploadId></InitiateMultipartUploadResult>"
                        : request.startsWith("POST")
                                ? "<CompleteMultipartUploadResult/>"
                                : "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>");
    }

    private long count(String request) {
        return asked.stream().filter(one -> one.startsWith(request)).count();
    }

    private static String error(String code) {
        return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\n<Error><Code>" + code
                + "</Code><Message>Not now.</Message></Error>";
    }

    private String write() throws IOException {
        try (Upload upload = bucket.upload(KEY, null)) {
            upload.write("records".getBytes(StandardCharsets.UTF_8));
            return upload.finish();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "GET list-type,   503, SlowDown",
        "GET list-type,   400, RequestTimeout",
        "GET list-type,   400, Throttling",
        "GET list-type,   400, ExpiredToken",
        "GET list-type,   403, RequestThrottledException",
        "GET list-type,   200, InternalError",
        "POST uploads,    409, OperationAborted",
        "PUT partNumber,  400, RequestTimeout",
        "PUT partNumber,  400, RequestLimitExceeded",
        "POST uploadId,   200, InternalError",
        "POST uploadId,   200, SlowDown",
        "POST uploadId,   409, ConditionalRequestConflict"
    })
    void aTemporaryFaultIsRepeatedWhateverItsStatus(String operation, int status, String code) throws Exception {
        faulty = operation;
        faults = FAULTS;
        this.status = status;
        fault = error(code);
        assertThat(bucket.list("audit/", 10)).isEmpty();
        assertThat(write()).hasSize(64);
        assertThat(faults).isNotPositive();
        assertThat(count(operation)).isEqualTo(1 + FAULTS);
    }

    @ParameterizedTest
    @CsvSource({
        "403, AccessDenied",
        "403, InvalidAccessKeyId",
        "403, SignatureDoesNotMatch",
        "404, NoSuchBucket",
        "400, InvalidRequest",
        "409, InvalidBucketState"
    })
    void aRefusalIsNotRepeated(int status, String code) {
        faulty = "GET list-type";
        faults = Integer.MAX_VALUE;
        this.status = status;
        fault = error(code);
        assertThatThrownBy(() -> bucket.list("audit/", 10)).hasMessageContaining(code);
        assertThat(asked).hasSize(1);
    }

    /** The records of the object decide, not this text. */
    @Test
    void anObjectIsNotTakenForAnError() throws Exception {
        faulty = "GET null";
        faults = 1;
        status = 206;
        fault = error("InternalError");
        Bucket.Stored object = new Bucket.Stored(KEY, fault.length(), "\"etag\"", null, null, Instant.EPOCH);
        assertThat(new String(bucket.read(object).readAllBytes(), StandardCharsets.UTF_8))
                .isEqualTo(fault);
    }
}
