package dev.annals.hostile;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/** Connections that do as they like, from eight addresses that are no trusted proxy's. Closing it ends them all. */
final class Crowd implements AutoCloseable {

    private static final int ADDRESSES = 8;
    private static final int THREADS = 64;
    private static final int PATIENCE_SECONDS = 150;

    private final URI service;
    private final List<Connection> connections = Collections.synchronizedList(new ArrayList<>());
    private final List<Future<Integer>> attacks = new ArrayList<>();
    private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    private final AtomicInteger opened = new AtomicInteger();

    Crowd(URI service) {
        this.service = service;
    }

    /** An attack over one connection. Returns the status of the answer, or 0 if no answer came. */
    interface Attack {
        int on(Connection connection) throws IOException;
    }

    /** Lets so many connections attack at a time. */
    void attack(int count, Attack attack) {
        for (int i = 0; i < count; i++) {
            Callable<Integer> one = () -> {
                try (Connection connection = open()) {
                    return attack.on(connection);
                } catch (IOException e) {
                    return 0;
                }
            };
            attacks.add(threads.submit(one));
        }
    }

    /** The statuses that all attacks got, once each has ended. */
    List<Integer> statuses() throws InterruptedException, ExecutionException, TimeoutException {
        List<Integer> statuses = new ArrayList<>();
        for (Future<Integer> attack : attacks) {
            statuses.add(attack.get(PATIENCE_SECONDS, TimeUnit.SECONDS));
        }
        return statuses;
    }

    /** A connection that stays open until the crowd is closed, or the service closes it. */
    Connection open() throws IOException {
        Connection connection = new Connection(opened.getAndIncrement());
        connections.add(connection);
        return connection;
    }

    @Override
    public void close() throws IOException {
        threads.shutdownNow();
        for (Connection connection : List.copyOf(connections)) {
            connection.close();
        }
        try {
            assertThat(threads.awaitTermination(PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .as("each attack ends with its connection")
                    .isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** One connection. It reads no more than it is told to. */
    final class Connection implements Closeable {

        private final Socket socket = new Socket();

        private Connection(int number) throws IOException {
            socket.setReceiveBufferSize(4096);
            socket.setSoTimeout(PATIENCE_SECONDS * 1_000);
            // Only Linux has the whole of 127/8 without asking.
            if (System.getProperty("os.name").equals("Linux")) {
                InetAddress from = InetAddress.getByAddress(new byte[] {127, 0, 1, (byte) (1 + number % ADDRESSES)});
                socket.bind(new InetSocketAddress(from, 0));
            }
            socket.connect(new InetSocketAddress(service.getHost(), service.getPort()), PATIENCE_SECONDS * 1_000);
        }

        void send(String text) throws IOException {
            send(text.getBytes(StandardCharsets.ISO_8859_1));
        }

        void send(byte[] bytes) throws IOException {
            OutputStream out = socket.getOutputStream();
            out.write(bytes);
            out.flush();
        }

        /** Sends the bytes. Returns false if the service closed the connection first; its answer may still be readable. */
        boolean offer(byte[] bytes) {
            try {
                send(bytes);
                return true;
            } catch (IOException e) {
                return false;
            }
        }

        /** The status of an answer of HTTP/1.1; 0 where the connection ends without one. */
        int status() {
            try {
                byte[] line = socket.getInputStream().readNBytes("HTTP/1.1 200".length());
                return line.length < 12 ? 0 : Integer.parseInt(new String(line, 9, 3, StandardCharsets.US_ASCII));
            } catch (IOException e) {
                return 0;
            }
        }

        /** Whether the service closes the connection, having read what it has sent until then. */
        boolean isClosedByTheService() {
            try {
                InputStream in = socket.getInputStream();
                byte[] some = new byte[4096];
                while (in.read(some) >= 0) {
                    // an answer to what was half sent
                }
                return true;
            } catch (SocketTimeoutException e) {
                return false;
            } catch (IOException e) {
                return true;
            }
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }
}
