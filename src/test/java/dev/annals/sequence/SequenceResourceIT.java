package dev.annals.sequence;

import io.quarkus.test.junit.QuarkusIntegrationTest;

/** The same against the packaged service. */
@QuarkusIntegrationTest
class SequenceResourceIT extends SequenceResourceTest {}
