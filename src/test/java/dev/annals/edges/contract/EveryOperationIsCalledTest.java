package dev.annals.edges.contract;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Runs behind all tests of the started application: Quarkus orders test classes so. */
class EveryOperationIsCalledTest {
    @Test
    void everyOperationOfTheContractIsCalledByATest() {
        assertThat(CalledOperations.missing())
                .as("operations that no test of this run called (run all tests, not this one alone)")
                .isEmpty();
    }
}
