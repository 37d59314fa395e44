package dev.annals;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaMethodCall;
import io.smallrye.common.annotation.NonBlocking;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerResponse;
import jakarta.ws.rs.Path;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Answers take memory until their clients have taken them. The connection counts what waits in the network's buffers, whatever has
 * written it; these rules are for what the service itself holds meanwhile.
 */
@BesideTheService
class AnswersTest {

    /** The classes that write bodies themselves, and where their memory is counted. */
    private static final Map<String, String> WRITERS = Map.of(
            "PageAnswers", "has a Reservation until the last byte has left",
            "ExportStream", "has a Reservation for a page, which ExportResource takes",
            "FeedStream", "has a Reservation for what it wrote last, while the client is slow",
            "ProgramFile", "is in memory once for all clients",
            "ProblemRoutes", "ends the response with a problem, of which nothing is kept");

    private static final Set<String> WRITES = Set.of("write", "end", "send", "sendFile", "push", "writeCustomFrame");

    @Test
    void onlyBodiesWhoseMemoryIsCountedAreWrittenByHand() {
        assertThat(OwnClasses.all().stream()
                        .filter(type -> type.getMethodCallsFromSelf().stream().anyMatch(AnswersTest::writes))
                        .map(AnswersTest::outermost)
                        .distinct())
                .containsExactlyInAnyOrderElementsOf(WRITERS.keySet());
    }

    /** Answers of worker threads would wait for the connection's thread in a queue without a limit. */
    @Test
    void noResourceIsAnsweredByAWorkerThread() {
        assertThat(OwnClasses.all().stream()
                        .filter(type -> type.isAnnotatedWith(Path.class))
                        .flatMap(type -> type.getMethods().stream())
                        .filter(AnswersTest::isOperation)
                        .filter(method -> !method.getRawReturnType().isEquivalentTo(Uni.class)
                                && !method.isAnnotatedWith(NonBlocking.class))
                        .map(JavaMethod::getFullName))
                .isEmpty();
    }

    private static boolean isOperation(JavaMethod method) {
        return Stream.of("GET", "POST", "PUT", "PATCH", "DELETE")
                .anyMatch(name -> method.isAnnotatedWith("jakarta.ws.rs." + name));
    }

    private static boolean writes(JavaMethodCall call) {
        return call.getTargetOwner().isAssignableTo(HttpServerResponse.class)
                && WRITES.contains(call.getTarget().getName());
    }

    private static String outermost(JavaClass type) {
        return type.getName().replaceFirst("\\$.*", "").replaceFirst(".*\\.", "");
    }
}
