package dev.annals.core.feed;

import dev.annals.ProjectTest;
import org.junit.jupiter.api.BeforeEach;

/** A test with a client of a project's feed. */
public abstract class FeedTest extends ProjectTest {

    protected FeedClient feed;

    @BeforeEach
    void makeClient() {
        feed = new FeedClient(project);
    }
}
