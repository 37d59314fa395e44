package dev.annals.kernel.database;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * One object for each of the service's databases, such as a loop or a queue, so that a database that does not answer delays only
 * its own projects. Safe for any thread.
 */
public final class PerDatabase<T> {

    private final Function<Database, T> make;
    private final Map<Database, T> made = new ConcurrentHashMap<>();

    /** Makes an object for each database that exists now. */
    public PerDatabase(Databases databases, Function<Database, T> make) {
        this.make = make;
        databases.all().forEach(this::of);
    }

    public T of(Database database) {
        return made.computeIfAbsent(database, make);
    }

    /** Those made so far. */
    public List<T> all() {
        return List.copyOf(made.values());
    }
}
