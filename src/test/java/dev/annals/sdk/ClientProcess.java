package dev.annals.sdk;

import dev.annals.PackagedService;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** For tests of programs beside a packaged service: one service for all tests of a class, and a program that ends with its test. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class ClientProcess {

    /** The service's own. */
    Path data;

    PackagedService service;

    @TempDir
    Path folder;

    /** The program, once a test has started it. */
    Process process;

    @BeforeAll
    void startTheService(@TempDir Path directory) throws Exception {
        data = directory;
        service = new PackagedService(data.resolve("data"));
    }

    @AfterAll
    void stopTheService() {
        if (service != null) {
            service.close();
        }
    }

    @AfterEach
    void endTheProcess() throws InterruptedException {
        if (process != null) {
            process.destroyForcibly().waitFor();
        }
    }
}
