package dev.annals.access.caller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.access.sessions.TokenFilter;
import java.util.List;
import org.junit.jupiter.api.Test;

class RequiresTest {

    @Requires(Scope.ADMIN)
    static final class Resource {

        public void ofTheClass() {}

        @Requires(Scope.READ)
        public void ofItsOwn() {}
    }

    static final class Forgotten {

        public void operation() {}
    }

    static final class Contradictory {

        @Requires({Scope.READ, Scope.WRITE})
        public void twoScopes() {}

        @Requires(value = Scope.READ, token = false)
        public void scopeOfNoToken() {}
    }

    @Test
    void anAnnotationOnAMethodReplacesTheOneOnItsClass() throws Exception {
        assertThat(scope("ofTheClass")).containsExactly(Scope.ADMIN);
        assertThat(scope("ofItsOwn")).containsExactly(Scope.READ);
    }

    private static Scope[] scope(String method) throws NoSuchMethodException {
        return TokenFilter.required(Resource.class.getMethod(method)).value();
    }

    /** {@link TokenFilter} reads the annotation of every operation when the service starts. */
    @Test
    void anOperationWithoutAnAnnotationIsRefused() {
        assertThatThrownBy(() -> TokenFilter.required(Forgotten.class.getMethod("operation")))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageEndingWith("Forgotten.operation() does not declare its scope: add @Requires");
    }

    @Test
    void anOperationHasAtMostOneScopeAndNoneWithoutAToken() {
        for (String name : List.of("twoScopes", "scopeOfNoToken")) {
            assertThatThrownBy(() -> TokenFilter.required(Contradictory.class.getMethod(name)))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(name);
        }
    }
}
