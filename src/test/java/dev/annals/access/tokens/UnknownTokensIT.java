package dev.annals.access.tokens;

import static dev.annals.ProblemAssertions.assertProblem;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.OneByOne;
import dev.annals.ProjectTest;
import dev.annals.kernel.connection.TightLimits;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A flood of unknown tokens slows its senders and no other caller. */
@QuarkusTest
@OneByOne
@TestProfile(TightLimits.class)
class UnknownTokensIT extends ProjectTest {

    /** Reads a feed, through a proxy that names this address. */
    private static ExtractableResponse<Response> read(String token, String address) {
        return given().header("Authorization", "Bearer " + token)
                .header("X-Forwarded-For", address)
                .get("/v1/project-logs")
                .then()
                .extract();
    }

    /** Blocks look-ups of tokens until it is closed. */
    private Connection withTokensLocked() throws Exception {
        Connection connection = log.connect();
        AuditLogFixture.execute(connection, "lock table annals.access_token in access exclusive mode");
        return connection;
    }

    @Test
    void onlyAFewAreLookedUpAtATimeAndKnownOnesPassThemBy() throws Exception {
        assertThat(read(project.token(), "192.0.2.1").statusCode()).isEqualTo(200);
        int sent = 10;
        int admitted = 1 + FewLookUps.WAITING;
        ExecutorService threads = Executors.newFixedThreadPool(sent);
        try {
            CompletionService<ExtractableResponse<Response>> answers = new ExecutorCompletionService<>(threads);
            List<Future<ExtractableResponse<Response>>> all = new ArrayList<>();
            try (Connection locked = withTokensLocked()) {
                for (int i = 0; i < sent; i++) {
                    String address = "192.0.2." + (i + 10);
                    all.add(answers.submit(() -> read(TestTokens.unknown(), address)));
                }
                for (int i = 0; i < sent - admitted; i++) {
                    // Before the look-ups give up on the lock.
                    Future<ExtractableResponse<Response>> early = answers.poll(8, TimeUnit.SECONDS);
                    assertThat(early).as("one that is refused at once").isNotNull();
                    assertProblem(early.get(), 503, "overloaded");
                    assertThat(early.get().header("Retry-After")).isNotNull();
                }
                assertThat(read(project.token(), "192.0.2.1").statusCode()).isEqualTo(200);
                locked.rollback();
            }
            List<Integer> statuses = new ArrayList<>();
            for (Future<ExtractableResponse<Response>> answer : all) {
                statuses.add(answer.get().statusCode());
            }
            assertThat(statuses).filteredOn(status -> status == 401).hasSize(admitted);
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void unknownTokensAndTextsOfAnotherFormAreNotLookedUpAgain() throws Exception {
        String unknown = TestTokens.unknown();
        assertProblem(read(unknown, "192.0.2.30"), 401, "unauthorized");
        try (Connection locked = withTokensLocked()) {
            assertProblem(read(unknown, "192.0.2.30"), 401, "unauthorized");
            assertProblem(read("annals_unknown", "192.0.2.30"), 401, "unauthorized");
            assertProblem(read(unknown.replace("annals_", "others_"), "192.0.2.30"), 401, "unauthorized");
            locked.rollback();
        }
    }

    @Test
    void anAddressWithTooManyFailuresIsToldToWaitAndItsValidTokensAreTaken() {
        String address = "198.51.100.7";
        for (int i = 0; i < TightLimits.FAILURES; i++) {
            assertProblem(read(i % 2 == 0 ? TestTokens.unknown() : "annals_x", address), 401, "unauthorized");
        }
        for (String token : List.of(TestTokens.unknown(), "annals_x", "x".repeat(600))) {
            ExtractableResponse<Response> refused = assertProblem(read(token, address), 429, "too-many-failures");
            assertThat(refused.header("Retry-After")).isEqualTo("60");
        }
        assertThat(read(project.token(), address).statusCode()).isEqualTo(200);
        assertThat(read(log.newToken(project.id(), "read"), address).statusCode())
                .isEqualTo(200);
        assertProblem(read(TestTokens.unknown(), "198.51.100.8"), 401, "unauthorized");
    }

    @Test
    void theAddressesOfOneIpv6NetworkCountAsOne() {
        for (int i = 0; i < TightLimits.FAILURES; i++) {
            assertProblem(read("annals_x", "2001:db8:1:2::" + Integer.toHexString(i + 1)), 401, "unauthorized");
        }
        assertProblem(read("annals_x", "2001:db8:1:2:ffff::1"), 429, "too-many-failures");
        assertProblem(read("annals_x", "2001:db8:1:3::1"), 401, "unauthorized");
    }
}
