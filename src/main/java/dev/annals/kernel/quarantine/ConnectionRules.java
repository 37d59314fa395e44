package dev.annals.kernel.quarantine;

import java.net.InetSocketAddress;
import java.time.Duration;

/** The limits on the connections of one port. Implementations are safe for any thread. */
public interface ConnectionRules {

    /** Counts a new connection. If this returns false, the connection is closed at once and was not counted. */
    boolean admit(InetSocketAddress from);

    /** Called once when an admitted connection is closed. */
    void left(InetSocketAddress from);

    /** The longest time for the head of a request, from its first byte. */
    Duration headTime();

    /** The longest time without a request, and without progress of an answer. */
    Duration idleTime();

    /** The most connections with more than 4 KiB of an incomplete head. */
    int largeHeads();

    /** The most bytes of answers that wait in memory for clients, on all connections together. */
    long unsentBytes();

    /** Called when a client is cut off because more bytes than {@link #unsentBytes} wait. */
    void cutOff();

    /** A whole HTTP answer for a head that was not complete in time. */
    byte[] tooSlow();

    /** A whole HTTP answer for a large head when {@link #largeHeads()} others are incomplete. */
    byte[] tooManyHeads();
}
