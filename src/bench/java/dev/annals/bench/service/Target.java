package dev.annals.bench.service;

import java.util.List;

/**
 * Something that takes records over HTTP.
 *
 * @param tokens one a project
 */
record Target(String name, JavaProcess process, List<String> tokens) implements AutoCloseable {

    int port() {
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
