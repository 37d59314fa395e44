package dev.annals.database;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;

/** The SQL statements of the service. Each is a file of its own, {@code sql/<name>.sql}, whose header lists its binds. */
public final class Sql {

    private Sql() {}

    /**
     * Reads a statement, without its comments.
     *
     * @param name the file's name without {@code .sql}
     */
    public static String named(String name) {
        String resource = "/sql/" + name + ".sql";
        try (InputStream file = Sql.class.getResourceAsStream(resource)) {
            if (file == null) {
                throw new IllegalStateException("missing resource " + resource);
            }
            return new String(file.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.strip().startsWith("--"))
                    .collect(Collectors.joining("\n"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
