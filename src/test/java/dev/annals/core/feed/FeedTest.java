package dev.annals.core.feed;

import dev.annals.ProjectTest;
import org.junit.jupiter.api.BeforeEach;

/** The same with a client of the feed. */
public abstract class FeedTest extends ProjectTest {

    protected FeedClient feed;

    @BeforeEach
    void makeClient() {
        feed = new FeedClient(project);
    }
}
