package dev.annals.access.caller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.access.sessions.TokenFilter;
import org.junit.jupiter.api.Test;

class RequiresTest {

    @Requires(Access.ADMIN)
    static final class Resource {

        public void ofTheClass() {}

        @Requires(Access.READ)
        public void ofItsOwn() {}
    }

    static final class Forgotten {

        public void operation() {}
    }

    @Test
    void theAnnotationOfAMethodComesBeforeThatOfItsClass() throws Exception {
        assertThat(TokenFilter.required(Resource.class.getMethod("ofTheClass"))).isEqualTo(Access.ADMIN);
        assertThat(TokenFilter.required(Resource.class.getMethod("ofItsOwn"))).isEqualTo(Access.READ);
    }

    /** {@link TokenFilter} asks this of every operation when the service starts. */
    @Test
    void anOperationThatDoesNotSayWhatItRequiresIsRefused() {
        assertThatThrownBy(() -> TokenFilter.required(Forgotten.class.getMethod("operation")))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageEndingWith("Forgotten.operation() does not say which access it requires: add @Requires");
    }
}
