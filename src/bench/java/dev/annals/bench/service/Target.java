package dev.annals.bench.service;

import java.util.List;

/**
 * Something that takes records over HTTP.
 *
 * @param tokens one a project
 */
public record Target(String name, JavaProcess process, List<String> tokens) implements AutoCloseable {

    /** The local port that it listens on. */
    public int port() {
        return process.port();
    }

    @Override
    public void close() {
        process.close();
    }

    @Override
    public String toString() {
        return name;
    }
}
