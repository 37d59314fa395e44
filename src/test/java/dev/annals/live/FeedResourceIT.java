package dev.annals.live;

import io.quarkus.test.junit.QuarkusIntegrationTest;

/** The same against the packaged service. */
@QuarkusIntegrationTest
class FeedResourceIT extends FeedResourceTest {}
