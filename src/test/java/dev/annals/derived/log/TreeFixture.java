package dev.annals.derived.log;

import dev.annals.derived.projection.Projection;

/** The service's trees, for a test that starts no service. */
public final class TreeFixture {

    private TreeFixture() {}

    public static Projection logTree() {
        return new LogTree();
    }
}
