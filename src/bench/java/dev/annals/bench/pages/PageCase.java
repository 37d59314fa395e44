package dev.annals.bench.pages;

import dev.annals.bench.NumberedStatement;
import java.util.List;
import java.util.UUID;

/**
 * Pages of one kind.
 *
 * @param read binds the project, the sequence id behind which the page begins, and how many records to read at most
 * @param projects that have such pages
 */
record PageCase(String title, NumberedStatement read, List<UUID> projects) {

    @Override
    public String toString() {
        return title;
    }
}
