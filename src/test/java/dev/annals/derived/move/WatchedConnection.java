package dev.annals.derived.move;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;
import org.postgresql.copy.CopyOut;
import org.postgresql.core.BaseConnection;

/** A connection of a mover whose statements a test sees before they run, and whose COPY it may change, as a lying server could. */
final class WatchedConnection {

    private WatchedConnection() {}

    static Connection of(Connection real, Consumer<String> prepared, UnaryOperator<String> copied) {
        return (Connection) Proxy.newProxyInstance(
                WatchedConnection.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, args) -> {
                    if (method.getName().equals("prepareStatement")) {
                        prepared.accept((String) args[0]);
                    }
                    if (method.getName().equals("unwrap")) {
                        return copying(real.unwrap(PGConnection.class), copied);
                    }
                    try {
                        return method.invoke(real, args);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private static PGConnection copying(PGConnection real, UnaryOperator<String> copied) throws SQLException {
        CopyManager changed = new CopyManager((BaseConnection) real) {
            @Override
            public CopyOut copyOut(String sql) throws SQLException {
                return super.copyOut(copied.apply(sql));
            }
        };
        return (PGConnection) Proxy.newProxyInstance(
                WatchedConnection.class.getClassLoader(),
                new Class<?>[] {PGConnection.class},
                (proxy, method, args) -> {
                    if (method.getName().equals("getCopyAPI")) {
                        return changed;
                    }
                    return method.invoke(real, args);
                });
    }
}
