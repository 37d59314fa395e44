package dev.annals.ops;

import io.quarkus.test.junit.QuarkusIntegrationTest;

/** The same against the packaged service. */
@QuarkusIntegrationTest
class HealthIT extends HealthTest {}
