package dev.annals.kernel.connection;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.ProjectTest;
import io.quarkus.test.junit.QuarkusTest;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The headers of a trusted proxy name the client, and those of a client do not. The tests' connections are a trusted proxy's.
 */
@QuarkusTest
class ForwardedHeadersTest extends ProjectTest {

    /** A token for these two addresses. */
    private String bound;

    @BeforeEach
    void bindToAddresses() {
        bound = given().auth()
                .oauth2(AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body(
                        "{\"scopes\": [\"read\"], \"allowed_addresses\": [\"::ffff:203.0.113.9\", \"2001:db8::5\", \"::ffff:127.0.0.0/104\", \"::1\"]}")
                .post("/v1/projects/" + project.id() + "/tokens")
                .then()
                .statusCode(201)
                .extract()
                .path("token");
    }

    private static String answer(String token, String headers) throws IOException {
        try (RawConnection connection = new RawConnection()) {
            return connection
                    .send("GET /v1/whoami HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n"
                            + headers + "\r\n\r\n")
                    .answer();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "X-Forwarded-For: 203.0.113.9",
                "X-Forwarded-For: 203.0.113.9:1234",
                "X-Forwarded-For: 2001:db8::5",
                "X-Forwarded-For: 2001:DB8:0::5%eth0",
                "X-Forwarded-For: [2001:db8::5]",
                "X-Forwarded-For: [2001:db8::5]:1234",
                "X-Forwarded-For: ::ffff:203.0.113.9",
                "X-Forwarded-For: 198.51.100.1, 203.0.113.9",
                "X-Forwarded-For: 198.51.100.1, 203.0.113.9 , 127.0.0.1,\t::1",
                "X-Forwarded-For: 198.51.100.1\r\nX-Forwarded-For: 203.0.113.9\r\nX-Forwarded-For: 127.0.0.1",
                "X-Forwarded-For: 127.0.0.7",
            })
    void theClientIsTheLastAddressThatIsNoTrustedProxys(String headers) throws IOException {
        assertThat(answer(bound, headers)).startsWith("HTTP/1.1 200 ");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "X-Forwarded-For: 198.51.100.1",
                "X-Forwarded-For: 203.0.113.9, 198.51.100.1",
                "X-Forwarded-For: 203.0.113.9, 198.51.100.1, 127.0.0.1",
                "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-For: 198.51.100.1",
                "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-For: 198.51.100.1\r\nX-Forwarded-For: ::1",
                "X-Forwarded-For: [2001:db8::6]:1234",
                "Forwarded: for=203.0.113.9\r\nX-Forwarded-For: 198.51.100.1"
            })
    void elementsThatAClientWroteBeforeItsAddressDoNotCount(String headers) throws IOException {
        assertThat(answer(bound, headers)).startsWith("HTTP/1.1 403 ");
    }

    /** The client is then the nearest proxy, here the connection's address. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                ",",
                ", 127.0.0.1",
                "198.51.100.1,",
                "198.51.100.1, unknown",
                "198.51.100.1, _hidden, ::1",
                "198.51.100.1, 203.0.113.9:x",
                "198.51.100.1, [203.0.113.9]:",
                "198.51.100.1, localhost",
                "198.51.100.1, 010.1.1.1",
                "198.51.100.1, 1.2.3"
            })
    void textThatIsNoAddressIsNoClient(String value) throws Exception {
        String answer = answer(bound, "X-Forwarded-For: " + value);
        assertThat(answer).startsWith("HTTP/1.1 200 ");
    }

    @Test
    void everyRequestIsAnsweredWhateverItsHeadersSay() throws Exception {
        List<String> names = List.of(
                "X-Forwarded-For",
                "X-Forwarded-Proto",
                "X-Forwarded-Host",
                "X-Forwarded-Port",
                "X-Forwarded-Prefix",
                "Forwarded",
                "X-Forwarded-Ssl");
        List<String> parts = List.of(
                "",
                " ",
                ",",
                ":",
                "[",
                "]",
                "::",
                "%",
                "\"",
                "for=",
                ";",
                "/",
                "..",
                "203.0.113.9",
                "2001:db8::5",
                "http",
                "99999",
                "-1",
                "0",
                "unknown",
                "_x",
                "\t",
                "ü",
                "x".repeat(300),
                "127.0.0.1");
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        for (int i = 0; i < 300; i++) {
            StringBuilder headers = new StringBuilder();
            for (int line = 0; line <= random.nextInt(3); line++) {
                headers.append(line == 0 ? "" : "\r\n")
                        .append(names.get(random.nextInt(names.size())))
                        .append(":");
                for (int part = random.nextInt(6); part > 0; part--) {
                    headers.append(parts.get(random.nextInt(parts.size())));
                }
            }
            String answer = answer(bound, headers.toString());
            assertThat(answer).as("seed %d: %s", seed, headers).matches("(?s)HTTP/1.1 (200|400|403) .*");
        }
    }
}
