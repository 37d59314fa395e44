package dev.annals.tools.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;

/** A path to a server on which connections take turns: one works, one is answered with 503, one is slow and breaks off. */
final class FlakyRelay implements AutoCloseable {

    private static final int LATE_MILLIS = 300;
    /** In the middle of an answer with a part of an object. */
    private static final int BREAKS_AFTER_BYTES = 100_000;

    private static final int WORKS_FOR_BYTES = 1_000_000;

    private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final int port;
    final AtomicInteger refused = new AtomicInteger();
    final AtomicInteger broken = new AtomicInteger();

    FlakyRelay(int port) throws IOException {
        this.port = port;
        start(() -> {
            for (int count = 0; !listener.isClosed(); count++) {
                Socket client = listener.accept();
                int turn = count % 3;
                start(() -> serve(client, turn));
            }
        });
    }

    int port() {
        return listener.getLocalPort();
    }

    private interface Work {
        void run() throws Exception;
    }

    private static void start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Exception e) {
                // The connection ends.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private void serve(Socket client, int turn) throws Exception {
        try (client) {
            if (turn == 1) {
                byte[] some = new byte[1_024];
                if (client.getInputStream().read(some) > 0) {
                    refused.incrementAndGet();
                    client.getOutputStream()
                            .write("HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                                    .getBytes(StandardCharsets.US_ASCII));
                }
                return;
            }
            if (turn == 2) {
                Thread.sleep(LATE_MILLIS);
            }
            try (Socket server = new Socket(InetAddress.getLoopbackAddress(), port)) {
                start(() -> copy(client.getInputStream(), server.getOutputStream(), Integer.MAX_VALUE));
                if (copy(
                        server.getInputStream(),
                        client.getOutputStream(),
                        turn == 2 ? BREAKS_AFTER_BYTES : WORKS_FOR_BYTES)) {
                    broken.incrementAndGet();
                }
            }
        }
    }

    /** Returns whether the limit ended it. */
    private static boolean copy(InputStream from, OutputStream to, int most) throws IOException {
        byte[] buffer = new byte[8_192];
        int left = most;
        for (int count; (count = from.read(buffer, 0, Math.min(buffer.length, left))) > 0; ) {
            to.write(buffer, 0, count);
            to.flush();
            left -= most == Integer.MAX_VALUE ? 0 : count;
            if (left == 0) {
                return true;
            }
        }
        return false;
    }

    @Override
    public void close() {
        try {
            listener.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
