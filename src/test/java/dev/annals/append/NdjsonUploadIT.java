package dev.annals.append;

import io.quarkus.test.junit.QuarkusIntegrationTest;

/** The same against the packaged service. */
@QuarkusIntegrationTest
class NdjsonUploadIT extends NdjsonUploadTest {}
