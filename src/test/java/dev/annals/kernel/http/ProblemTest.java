package dev.annals.kernel.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class ProblemTest {

    @Test
    void theJsonHasTheMembersOfRfc9457InOrder() {
        Problem problem = Problem.of(ProblemType.RECORD_ID_TAKEN, "Choose another id")
                .with("id", "x")
                .withErrors(List.of(new FieldError("/id", "is taken")));
        assertThat(text(problem)).isEqualTo("""
                        {"type":"urn:annals:problem:record-id-taken","title":"Record id taken","status":409,\
                        "detail":"Choose another id","id":"x","errors":[{"pointer":"/id","detail":"is taken"}]}""");
    }

    @Test
    void charactersThatAreNoTextDoNotBreakTheAnswer() {
        assertThat(text(Problem.of(ProblemType.INVALID_CURSOR, "a\0b\uD800c"))).contains("a\\u0000b?c");
    }

    @Test
    void waitsAreRoundedUpToWholeSeconds() {
        Problem problem = Problem.of(ProblemType.QUEUE_FULL, "Try again");
        assertThat(problem.withRetryAfter(Duration.ZERO).headers()).containsEntry("Retry-After", "1");
        assertThat(problem.withRetryAfter(Duration.ofMillis(1_001)).headers()).containsEntry("Retry-After", "2");
    }

    @Test
    void everyTypeHasANameOfItsOwnAndAnErrorStatus() {
        assertThat(Arrays.stream(ProblemType.values()).map(ProblemType::uri)).doesNotHaveDuplicates();
        assertThat(ProblemType.values()).allMatch(type -> type.status() >= 400 && type.status() < 600);
    }

    private static String text(Problem problem) {
        return new String(problem.toJson(), StandardCharsets.UTF_8);
    }
}
