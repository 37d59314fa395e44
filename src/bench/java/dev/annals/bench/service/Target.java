package dev.annals.bench.service;

import java.util.List;

/**
 * Something that takes records over HTTP.
 *
 * @param tokens one a project
 */
public record Target(String name, JavaProcess process, List<String> tokens) implements AutoCloseable {

    /** Where it listens, on this machine. */
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
