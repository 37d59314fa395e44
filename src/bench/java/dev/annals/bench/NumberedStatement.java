package dev.annals.bench;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * SQL with PostgreSQL's numbered binds ($1, $2 …), for JDBC, which knows only question marks: a bind that stands there
 * twice is sent twice.
 */
public final class NumberedStatement {

    private static final Pattern BIND = Pattern.compile("\\$(\\d+)");

    private final String sql;
    /** For each question mark, the place of its value, from 0. */
    private final List<Integer> places = new ArrayList<>();

    /** Takes SQL without comments. */
    public NumberedStatement(String numbered) {
        Matcher bind = BIND.matcher(numbered);
        StringBuilder text = new StringBuilder();
        while (bind.find()) {
            places.add(Integer.parseInt(bind.group(1)) - 1);
            bind.appendReplacement(text, "?");
        }
        bind.appendTail(text);
        this.sql = text.toString();
    }

    /** The statement of a file of the benchmarks' own resources, without its comments. */
    public static NumberedStatement ofResource(String name) {
        return new NumberedStatement(resource(name)
                .lines()
                .filter(line -> !line.strip().startsWith("--"))
                .collect(Collectors.joining("\n")));
    }

    /** Reads a file of the benchmarks' own resources. */
    public static String resource(String name) {
        try (InputStream file = NumberedStatement.class.getResourceAsStream("/bench/" + name)) {
            if (file == null) {
                throw new IllegalStateException("missing resource /bench/" + name);
            }
            return new String(file.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Prepares the statement on a connection. The caller closes it. */
    public PreparedStatement prepare(Connection connection) throws SQLException {
        return connection.prepareStatement(sql);
    }

    /** Binds values, the first to $1. Arrays become PostgreSQL's arrays of the like type. */
    public void bind(PreparedStatement statement, List<?> values) throws SQLException {
        Object[] bound = new Object[values.size()];
        for (int i = 0; i < bound.length; i++) {
            bound[i] = sqlValue(statement.getConnection(), values.get(i));
        }
        for (int i = 0; i < places.size(); i++) {
            Object value = bound[places.get(i)];
            if (value instanceof Array array) {
                statement.setArray(i + 1, array);
            } else {
                statement.setObject(i + 1, value);
            }
        }
    }

    private static Object sqlValue(Connection connection, Object value) throws SQLException {
        if (value instanceof Object[] elements) {
            return connection.createArrayOf(elementType(elements), elements);
        }
        return value;
    }

    private static String elementType(Object[] elements) {
        if (elements instanceof String[]) {
            return "text";
        }
        if (elements instanceof UUID[]) {
            return "uuid";
        }
        if (elements instanceof Integer[]) {
            return "int4";
        }
        return "timestamptz";
    }
}
