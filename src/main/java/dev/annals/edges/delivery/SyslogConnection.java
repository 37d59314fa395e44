package dev.annals.edges.delivery;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a syslog receiver, over TLS or TCP, whose two directions are closed separately; {@link javax.net.ssl.SSLSocket} cannot
 * do this. Its methods block. Any thread may call {@link #close}, which ends them.
 */
final class SyslogConnection implements AutoCloseable {

    /** Receivers send nothing. A few bytes do no harm. */
    private static final int MAX_ANSWER_BYTES = 4_096;

    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

    private final @Nullable SSLEngine tls;
    private final SocketChannel channel;
    private final ByteBuffer sent;
    private final ByteBuffer received;
    private final ByteBuffer answer;
    private int answered;

    /**
     * A connection that is not open yet.
     *
     * @param tls null without TLS
     */
    SyslogConnection(@Nullable SSLEngine tls) throws IOException {
        this.tls = tls;
        this.channel = SocketChannel.open();
        int packet = tls == null ? MAX_ANSWER_BYTES : tls.getSession().getPacketBufferSize();
        this.sent = ByteBuffer.allocate(packet);
        this.received = ByteBuffer.allocate(packet).limit(0);
        this.answer = ByteBuffer.allocate(tls == null ? 0 : tls.getSession().getApplicationBufferSize());
    }

    void connect(InetSocketAddress address) throws IOException {
        channel.connect(address);
        if (tls != null) {
            tls.beginHandshake();
            handshake(tls);
        }
    }

    private void handshake(SSLEngine engine) throws IOException {
        while (true) {
            switch (engine.getHandshakeStatus()) {
                case NEED_TASK -> runTasks(engine);
                case NEED_WRAP -> wrap(engine, NOTHING);
                case NEED_UNWRAP, NEED_UNWRAP_AGAIN -> {
                    if (!(received.hasRemaining() && unwrap(engine)) && read() < 0) {
                        throw new SSLException("the receiver ended the handshake");
                    }
                }
                case NOT_HANDSHAKING, FINISHED -> {
                    return;
                }
            }
        }
    }

    private static void runTasks(SSLEngine engine) {
        for (Runnable task = engine.getDelegatedTask(); task != null; task = engine.getDelegatedTask()) {
            task.run();
        }
    }

    private void wrap(SSLEngine engine, ByteBuffer bytes) throws IOException {
        sent.clear();
        SSLEngineResult result = engine.wrap(bytes, sent);
        sent.flip();
        if (result.bytesConsumed() == 0 && result.bytesProduced() == 0) {
            throw new SSLException("nothing can be sent");
        }
        while (sent.hasRemaining()) {
            channel.write(sent);
        }
    }

    /** Returns false if no TLS record is complete. */
    private boolean unwrap(SSLEngine engine) throws SSLException {
        SSLEngineResult result = engine.unwrap(received, answer.clear());
        count(answer.position());
        runTasks(engine);
        if (result.getStatus() == SSLEngineResult.Status.CLOSED) {
            count(received.remaining());
            received.position(received.limit());
        }
        return result.bytesConsumed() > 0;
    }

    private void count(int bytes) {
        answered += bytes;
        if (answered > MAX_ANSWER_BYTES) {
            throw new Sink.SinkException("It sends data, which no syslog receiver does.");
        }
    }

    /** Returns -1 at the end of the connection. */
    private int read() throws IOException {
        received.compact();
        if (!received.hasRemaining()) {
            throw new SSLException("a record of TLS is too large");
        }
        int bytes = channel.read(received);
        received.flip();
        if (tls == null) {
            count(received.remaining());
            received.position(received.limit());
        } else {
            while (received.hasRemaining() && unwrap(tls)) {}
        }
        return bytes;
    }

    void write(ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            if (tls == null) {
                channel.write(bytes);
            } else {
                wrap(tls, bytes);
            }
        }
    }

    /** As far as this machine knows. Does not wait. */
    boolean isOpen() throws IOException {
        channel.configureBlocking(false);
        int bytes = read();
        while (bytes > 0) {
            bytes = read();
        }
        channel.configureBlocking(true);
        return bytes == 0 && !(tls != null && tls.isInboundDone());
    }

    /** With TLS after a close_notify. */
    void endOutput() throws IOException {
        if (tls != null) {
            tls.closeOutbound();
            while (!tls.isOutboundDone()) {
                wrap(tls, NOTHING);
            }
        }
        channel.shutdownOutput();
    }

    /**
     * Waits until the receiver closes its direction.
     *
     * @return false if TLS ended without close_notify
     * @throws IOException if the receiver reset the connection
     */
    boolean awaitEnd() throws IOException {
        while (read() >= 0) {}
        return tls == null || tls.isInboundDone();
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            // It is closed anyway.
        }
    }
}
