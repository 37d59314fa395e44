package dev.annals.edges.contract;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.quarkus.test.junit.callback.QuarkusTestAfterEachCallback;
import io.quarkus.test.junit.callback.QuarkusTestBeforeEachCallback;
import io.quarkus.test.junit.callback.QuarkusTestMethodContext;
import io.restassured.RestAssured;

/**
 * Puts a {@link ContractFilter} into every REST Assured call of every test of the started application: none can forget
 * it. If a test fails, its last exchange is printed. Registered under {@code META-INF/services}.
 */
public final class CheckEveryAnswer implements QuarkusTestBeforeEachCallback, QuarkusTestAfterEachCallback {

    // REST Assured would make one for each answer, and look through the class path for modules each time.
    private static final ObjectMapper JSON = new ObjectMapper().findAndRegisterModules();

    @Override
    public void beforeEach(QuarkusTestMethodContext context) {
        ContractFilter.forgetLastExchange();
        RestAssured.replaceFiltersWith(ContractFilter.ofAnswers());
        RestAssured.config = RestAssured.config()
                .objectMapperConfig(RestAssured.config()
                        .getObjectMapperConfig()
                        .jackson2ObjectMapperFactory((type, charset) -> JSON));
    }

    @Override
    public void afterEach(QuarkusTestMethodContext context) {
        if (context.getTestStatus().isTestFailed()) {
            ContractFilter.lastExchange().ifPresent(System.out::println);
        }
    }
}
