package dev.annals.kernel.database;

import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.PreparedQuery;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.mutiny.sqlclient.SqlClient;
import io.vertx.mutiny.sqlclient.Tuple;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The values of a statement's binds. Each is set once, by its name, before the statement runs. */
public final class Binds {

    private static final Object UNSET = new Object();

    private final Sql statement;
    private final @Nullable Object[] values;
    private int next;

    Binds(Sql statement) {
        this.statement = statement;
        this.values = new Object[statement.size()];
        Arrays.fill(values, UNSET);
    }

    /**
     * Sets a bind.
     *
     * @throws IllegalStateException if the statement has no bind of this name, or it is set already
     */
    public Binds bind(String name, @Nullable Object value) {
        int place = statement.place(name, next);
        if (values[place] != UNSET) {
            throw new IllegalStateException(statement + ": the bind :" + name + " is set twice");
        }
        values[place] = value;
        next = place + 1;
        return this;
    }

    public Sql statement() {
        return statement;
    }

    /**
     * Runs the statement, prepared.
     *
     * @throws IllegalStateException if a bind is not set
     */
    public Uni<RowSet<Row>> execute(SqlClient client) {
        return on(client, connection -> prepared(connection).execute(tuple()));
    }

    /** Maps each row as it arrives, so that not all are held at once. */
    public <T> Uni<RowSet<T>> execute(SqlClient client, Function<Row, T> mapping) {
        return on(client, connection -> prepared(connection).mapping(mapping).execute(tuple()));
    }

    // The pool's own preparedQuery keeps its timer if no connection can be made, and reports a second end as an error.
    private <T> Uni<T> on(SqlClient client, Function<SqlClient, Uni<T>> work) {
        if (client instanceof ReadPool reads) {
            return reads.withConnection(project(), work::apply);
        }
        return client instanceof Pool pool ? pool.withConnection(work::apply) : work.apply(client);
    }

    /** The project that the statement is for; null if it is for several, or for none. */
    private @Nullable UUID project() {
        for (int place = 0; place < values.length; place++) {
            if (statement.bindAt(place).equals("project_id")) {
                return values[place] instanceof UUID[] several && several.length == 1
                        ? several[0]
                        : values[place] instanceof UUID one ? one : null;
            }
        }
        return null;
    }

    private PreparedQuery<RowSet<Row>> prepared(SqlClient client) {
        return client.preparedQuery(statement.text());
    }

    /** The values in the order of $1, $2 … */
    public Tuple tuple() {
        for (int place = 0; place < values.length; place++) {
            if (values[place] == UNSET) {
                throw new IllegalStateException(statement + ": the bind :" + statement.bindAt(place) + " is not set");
            }
        }
        return Tuple.wrap(values);
    }

    /** The statement for JDBC. The caller closes it. */
    public PreparedStatement prepare(Connection connection) throws SQLException {
        Tuple tuple = tuple();
        PreparedStatement prepared = connection.prepareStatement(statement.jdbcText());
        List<Integer> places = statement.jdbcPlaces();
        for (int i = 0; i < places.size(); i++) {
            prepared.setObject(i + 1, tuple.getValue(places.get(i)));
        }
        return prepared;
    }
}
