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

    private final Databases databases;
    private final Function<Database, T> make;
    private final Map<Database, T> made = new ConcurrentHashMap<>();

    /** Makes an object for each database that exists now. */
    public PerDatabase(Databases databases, Function<Database, T> make) {
        this.databases = databases;
        this.make = make;
        databases.all().forEach(this::of);
    }

    public T of(Database database) {
        return made.computeIfAbsent(database, make);
    }

    /** Home's first. */
    public List<T> all() {
        return databases.all().stream().map(this::of).toList();
    }
}
