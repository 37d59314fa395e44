package dev.annals.contract;

import io.quarkus.test.junit.callback.QuarkusTestAfterEachCallback;
import io.quarkus.test.junit.callback.QuarkusTestBeforeEachCallback;
import io.quarkus.test.junit.callback.QuarkusTestMethodContext;
import io.restassured.RestAssured;

/**
 * Puts a {@link ContractFilter} into every REST Assured call of every test of the started application: none can forget
 * it. Where a test fails, its last exchange is printed. Registered under {@code META-INF/services}.
 */
public final class CheckEveryAnswer implements QuarkusTestBeforeEachCallback, QuarkusTestAfterEachCallback {
    @Override
    public void beforeEach(QuarkusTestMethodContext context) {
        ContractFilter.forgetLastExchange();
        RestAssured.replaceFiltersWith(ContractFilter.ofAnswers());
    }

    @Override
    public void afterEach(QuarkusTestMethodContext context) {
        if (context.getTestStatus().isTestFailed()) {
            ContractFilter.lastExchange().ifPresent(System.out::println);
        }
    }
}
