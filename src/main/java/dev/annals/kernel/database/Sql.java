package dev.annals.kernel.database;

import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.mutiny.sqlclient.SqlClient;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A statement of the service, in a file of its own, {@code sql/<path>.sql}:
 *
 * <pre>
 * -- :name  type                         declares a bind; the statement uses each declared bind, and no other
 * :name                                  the value of a bind, except in comments, texts and quoted names
 * /* include path *&#47;                     the text of another file, with its declarations
 * /* condition *&#47; :name::text[] is null  a condition that {@link #narrowed} replaces, true as it is
 * </pre>
 *
 * Comments are not sent.
 */
public final class Sql {

    private static final Pattern DECLARED = Pattern.compile("(?m)^-- :([a-z_]+) ");
    /** A bind, or a text in which a colon is no bind. */
    private static final Pattern TOKEN = Pattern.compile("""
            (?<comment>\\n?[ \\t]*--[^\\n]*|/\\*.*?\\*/)\
            |'[^']*'|"[^"]*"|\\$(?<tag>\\w*)\\$.*?\\$\\k<tag>\\$\
            |(?<![:\\w)\\]]):(?<bind>[a-z_]\\w*)""", Pattern.DOTALL);

    private static final Pattern INCLUDE = Pattern.compile("/\\* include ([a-z_/]+) \\*/");

    private static final Pattern CONDITION = Pattern.compile("/\\* condition \\*/ :[a-z_]+::text\\[] is null");

    /** Begins statements that differ by request. */
    static final String ONCE = "/* once */ ";

    private final String name;
    private final String source;
    private final String[] binds;
    private final String text;
    private final String jdbcText;
    /** The bind of each question mark. */
    private final List<Integer> jdbcPlaces = new ArrayList<>();

    private Sql(String name, String source, String begin) {
        this.name = name;
        this.source = source;
        // Interned, so that a comparison with a constant compares references.
        this.binds = DECLARED.matcher(source)
                .results()
                .map(declared -> declared.group(1).intern())
                .toArray(String[]::new);
        StringBuilder numbered = new StringBuilder();
        StringBuilder jdbc = new StringBuilder();
        int end = 0;
        for (Matcher token = TOKEN.matcher(source); token.find(); end = token.end()) {
            String before = source.substring(end, token.start());
            String bind = token.group("bind");
            if (bind != null) {
                int place = place(bind, 0);
                numbered.append(before).append('$').append(place + 1);
                jdbc.append(before).append('?');
                jdbcPlaces.add(place);
            } else {
                String rest = token.group("comment") == null ? token.group() : "";
                numbered.append(before).append(rest);
                jdbc.append(before).append(rest);
            }
        }
        this.text = begin + numbered.append(source.substring(end)).toString().strip();
        this.jdbcText = jdbc.append(source.substring(end)).toString().strip();
        requireAllUsed();
    }

    private void requireAllUsed() {
        Set<String> declared = new HashSet<>();
        for (int place = 0; place < binds.length; place++) {
            if (!declared.add(binds[place]) || !jdbcPlaces.contains(place)) {
                throw new IllegalStateException(name + ".sql declares :" + binds[place] + " twice, or does not use it");
            }
        }
    }

    /**
     * Reads a statement.
     *
     * @throws IllegalStateException if the file does not exist, or does not use exactly the binds that it declares
     */
    public static Sql named(String path) {
        return of(path.substring(path.lastIndexOf('/') + 1), read(path));
    }

    private static String read(String path) {
        String resource = "/sql/" + path + ".sql";
        try (InputStream file = Sql.class.getResourceAsStream(resource)) {
            if (file == null) {
                throw new IllegalStateException("missing resource " + resource);
            }
            return new String(file.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static Sql of(String name, String source) {
        return new Sql(
                name,
                INCLUDE.matcher(source).replaceAll(part -> Matcher.quoteReplacement(included(part.group(1)))),
                "");
    }

    private static String included(String path) {
        return "\n" + read(path).strip() + "\n";
    }

    /**
     * A statement with another condition, on the same binds, in place of the one in the file.
     *
     * @param condition contains nothing that a caller sent
     * @throws IllegalStateException if the file has no place for a condition
     */
    public Sql narrowed(String condition) {
        Matcher place = CONDITION.matcher(source);
        if (!place.find()) {
            throw new IllegalStateException(name + ".sql takes no condition");
        }
        return new Sql(name, place.replaceFirst(Matcher.quoteReplacement(condition)), ONCE);
    }

    /** For PostgreSQL: the binds are $1, $2 … in the order of their declaration. */
    public String text() {
        return text;
    }

    String jdbcText() {
        return jdbcText;
    }

    List<Integer> jdbcPlaces() {
        return jdbcPlaces;
    }

    int size() {
        return binds.length;
    }

    public Binds binds() {
        return new Binds(this);
    }

    public Binds bind(String bind, @Nullable Object value) {
        return binds().bind(bind, value);
    }

    public Uni<RowSet<Row>> execute(SqlClient client) {
        return binds().execute(client);
    }

    /**
     * The index of a bind, from 0.
     *
     * @param likely looked at first, so that binding in the order of declaration never searches
     */
    int place(String bind, int likely) {
        if (likely < binds.length && binds[likely].equals(bind)) {
            return likely;
        }
        for (int place = 0; place < binds.length; place++) {
            if (binds[place].equals(bind)) {
                return place;
            }
        }
        throw new IllegalStateException(name + ".sql declares no bind :" + bind);
    }

    String bindAt(int place) {
        return binds[place];
    }

    @Override
    public String toString() {
        return name + ".sql";
    }
}
