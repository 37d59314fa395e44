package dev.annals.kernel.quarantine;

import java.net.InetSocketAddress;
import java.time.Duration;

/** The limits on the connections of one port. Implementations are safe for any thread. */
public interface ConnectionRules {

    /** Counts a new connection. If this returns false, the connection is closed at once and was not counted. */
    boolean admit(InetSocketAddress from);

    /** Called once when an admitted connection is closed. */
    void left(InetSocketAddress from);

    /** How long the head of a request may take, from its first byte. */
    Duration headTime();

    /** How long a connection may have no request, and how long a client may take nothing of an answer. */
    Duration idleTime();

    /** How many connections may have sent more than 4 KiB of a head that is not complete. */
    int largeHeads();

    /** How many bytes of answers may wait in memory until their clients take them, on all connections together. */
    long unsentBytes();

    /** Called when a client is cut off because more bytes than {@link #unsentBytes} wait. */
    void cutOff();

    /** A whole HTTP answer for a head that was not complete in time. */
    byte[] tooSlow();

    /** A whole HTTP answer for a large head when {@link #largeHeads()} others are incomplete. */
    byte[] tooManyHeads();
}
