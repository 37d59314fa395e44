package dev.annals.contract;

import io.quarkus.test.junit.callback.QuarkusTestBeforeEachCallback;
import io.quarkus.test.junit.callback.QuarkusTestMethodContext;
import io.restassured.RestAssured;

/**
 * Puts a {@link ContractFilter} into every REST Assured call of every test of the started application: none can forget
 * it. Registered under {@code META-INF/services}.
 */
public final class CheckEveryAnswer implements QuarkusTestBeforeEachCallback {
    @Override
    public void beforeEach(QuarkusTestMethodContext context) {
        RestAssured.replaceFiltersWith(ContractFilter.ofAnswers());
        // What is logged where a test fails is written down for every request: JSON of great depth would be indented to
        // gigabytes.
        RestAssured.config = RestAssured.config()
                .logConfig(RestAssured.config().getLogConfig().enablePrettyPrinting(false));
    }
}
