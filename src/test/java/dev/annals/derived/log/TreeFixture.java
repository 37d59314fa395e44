package dev.annals.derived.log;

import dev.annals.derived.projection.Projection;

/** The trees of the service, for a test without a service. */
public final class TreeFixture {

    private TreeFixture() {}

    public static Projection logTree() {
        return new LogTree();
    }
}
