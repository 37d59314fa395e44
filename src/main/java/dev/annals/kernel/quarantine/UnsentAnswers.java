package dev.annals.kernel.quarantine;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The answers of one port in memory. Beyond {@link ConnectionRules#unsentBytes}, the clients that have read nothing for the
 * longest are cut off. Thread-safe.
 */
final class UnsentAnswers {

    private final ConnectionRules rules;
    /** Begins with the connection that has read nothing for the longest. */
    private final Map<ConnectionGuard, Long> bytes = new LinkedHashMap<>();

    private long total;

    UnsentAnswers(ConnectionRules rules) {
        this.rules = rules;
    }

    /**
     * Sets the waiting bytes of a connection.
     *
     * @param taken whether the client has read some since
     */
    synchronized void count(ConnectionGuard connection, long unsent, boolean taken) {
        Long before = taken || unsent == 0 ? bytes.remove(connection) : bytes.get(connection);
        if (unsent > 0) {
            bytes.put(connection, unsent);
        }
        total += unsent - (before == null ? 0 : before);
        // One connection alone may have more: each answer has a limit of its own.
        while (total > rules.unsentBytes() && bytes.size() > 1) {
            Map.Entry<ConnectionGuard, Long> oldest =
                    bytes.entrySet().iterator().next();
            total -= oldest.getValue();
            bytes.remove(oldest.getKey());
            oldest.getKey().cutOff();
            rules.cutOff();
        }
    }
}
