package dev.annals.contract;

import io.quarkus.test.junit.QuarkusIntegrationTest;

/** The same against the packaged service. */
@QuarkusIntegrationTest
class EveryOperationAnswersAsDescribedIT extends EveryOperationAnswersAsDescribedTest {}
