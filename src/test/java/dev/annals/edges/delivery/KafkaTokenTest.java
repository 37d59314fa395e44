package dev.annals.edges.delivery;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.annals.BesideTheService;
import io.vertx.core.Vertx;
import java.net.URI;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A hostile endpoint of tokens gives none, learns no more than its own login, and puts no text of its own into an error. */
@BesideTheService
class KafkaTokenTest {

    private static final Vertx VERTX = Vertx.vertx();

    @AfterAll
    static void close() {
        VERTX.close().toCompletionStage().toCompletableFuture().join();
    }

    private static KafkaToken ask(FixedAnswer endpoint) {
        HttpExchange http = new HttpExchange(Targets.anywhere(VERTX), VERTX.createHttpClient(), Duration.ofSeconds(10));
        return KafkaToken.of(http, URI.create(endpoint.url() + "/token"), null, "client:secret")
                .await()
                .atMost(Duration.ofSeconds(30));
    }

    static Stream<Arguments> hostileAnswers() {
        String good = "{\"access_token\": \"token\"}";
        return Stream.of(
                arguments(302, good),
                arguments(201, good),
                arguments(200, " ".repeat(70_000) + good),
                arguments(200, good.replace("token\"}", "a\\r\\nb\"}")),
                arguments(200, good.replace("token\"}", "a\\u0001auth=b\"}")),
                arguments(200, good.replace("token\"}", "x".repeat(20_000) + "\"}")),
                arguments(200, "{\"access_token\": {\"a\": 1}}"),
                arguments(200, "[" + good + "]"),
                arguments(200, "[".repeat(5_000)),
                arguments(200, "null"),
                arguments(200, ""),
                arguments(400, "{\"error\": \"<script>evil</script>\"}"));
    }

    @ParameterizedTest
    @MethodSource("hostileAnswers")
    void noTokenIsTakenFromAnotherAnswer(int status, String body) throws Exception {
        try (FixedAnswer endpoint = new FixedAnswer(status, body)) {
            assertThatThrownBy(() -> ask(endpoint))
                    .isInstanceOf(Sink.SinkException.class)
                    .hasMessage("The endpoint of tokens gives none: HTTP status " + status + ".");
            assertThat(endpoint.asked).containsExactly("/token");
        }
    }

    @Test
    void aTokenEndsWithinADayAndIsNotShown() throws Exception {
        try (FixedAnswer endpoint =
                new FixedAnswer(200, "{\"access_token\": \"a.b-c==\", \"expires_in\": 9223372036854775807}")) {
            KafkaToken token = ask(endpoint);
            assertThat(token.value()).isEqualTo("a.b-c==");
            assertThat(token.lifetimeMs()).isLessThanOrEqualTo(System.currentTimeMillis() + 86_400_000);
            assertThat(token.toString()).doesNotContain("a.b-c");
        }
    }
}
