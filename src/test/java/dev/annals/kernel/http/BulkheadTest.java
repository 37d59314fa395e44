package dev.annals.kernel.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.smallrye.mutiny.Uni;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A refusal says whether there was too much work, or work that took too long. */
@Timeout(60)
class BulkheadTest {

    private static final String TOO_MANY = "Too much at a time.";

    private final Bulkhead bulkhead = new Bulkhead(2, 1, Duration.ofMillis(300), TOO_MANY);

    private static void assertRefused(Uni<?> work, String detail) {
        assertThatThrownBy(() -> work.await().atMost(Duration.ofSeconds(50)))
                .isInstanceOfSatisfying(ProblemException.class, refused -> assertDetail(refused, detail));
    }

    private static void assertDetail(ProblemException refused, String detail) {
        assertThat(refused.problem().detail()).isEqualTo(detail);
    }

    @Test
    void workThatIsSlowIsNotCalledTooMuch() {
        assertRefused(
                bulkhead.run(() -> Uni.createFrom().nothing()),
                "There was no answer within 0.3 seconds. Send the request again later.");
    }

    @Test
    void workThatWaitsBehindTooMuchIsCalledThat() {
        for (int i = 0; i < 2; i++) {
            bulkhead.run(() -> Uni.createFrom().nothing())
                    .onFailure()
                    .recoverWithNull()
                    .subscribe()
                    .with(never -> {});
        }
        Uni<String> waiting =
                bulkhead.run(() -> Uni.createFrom().item("done")).memoize().indefinitely();
        waiting.subscribe().with(never -> {}, refused -> {});
        assertRefused(bulkhead.run(() -> Uni.createFrom().item("done")), TOO_MANY);
        assertRefused(waiting, TOO_MANY);
    }
}
