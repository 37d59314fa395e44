package dev.annals.kernel.quarantine;

import java.net.InetSocketAddress;
import java.time.Duration;

/** The limits on the connections of one port. Thread-safe. */
public interface ConnectionRules {

    /** If true, the connection counts until {@link #left}; if false, it is closed. */
    boolean admit(InetSocketAddress from);

    void left(InetSocketAddress from);

    /** From the first byte of a request. */
    Duration headTime();

    /** Without a request, or without progress of an answer. */
    Duration idleTime();

    /** Connections with more than 4 KiB of an incomplete head. */
    int largeHeads();

    /** Bytes of answers in memory, on all connections together. */
    long unsentBytes();

    /** Called when {@link #unsentBytes} cuts off a client. */
    void cutOff();

    /** A whole HTTP answer. */
    byte[] tooSlow();

    /** A whole HTTP answer. */
    byte[] tooManyHeads();
}
