package dev.annals;

import dev.annals.kernel.database.DatabaseUrl;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** A way to a server on this machine that breaks what goes over it. */
public final class BreakablePath implements AutoCloseable {

    private final int target;
    private final ServerSocket listener;
    private final Set<Connection> open = ConcurrentHashMap.newKeySet();
    private final AtomicInteger connections = new AtomicInteger();
    private volatile boolean swallows;

    /** @param target the server's port */
    public BreakablePath(int target) throws IOException {
        this(target, 0);
    }

    /** Listens on a port that is free. */
    public BreakablePath(int target, int port) throws IOException {
        this.target = target;
        listener = new ServerSocket(port, 50, InetAddress.getLoopbackAddress());
        run(this::accept);
    }

    /** The local port of this path. */
    public int port() {
        return listener.getLocalPort();
    }

    /** The number of connections so far. */
    public int connections() {
        return connections.get();
    }

    /** The same database over this path. */
    public DatabaseUrl url(DatabaseUrl database) {
        return new DatabaseUrl(
                database.user(), database.password(), "127.0.0.1", port(), database.database(), database.parameters());
    }

    /** Whether the server has a connection over this path whose other end has this port. */
    public boolean hasClientPort(int port) {
        return open.stream().anyMatch(each -> each.server.getLocalPort() == port);
    }

    /** Ends what is open, for both sides. */
    public void cut() {
        for (Connection each : Set.copyOf(open)) {
            each.close();
        }
    }

    /**
     * Passes nothing on from now on. Open connections stay open and pass nothing any more, not even their end. Connections that an
     * earlier call left open are closed: the database's keepalive has ended them by then, and they would count against its limit.
     */
    public void swallow() {
        for (Connection each : Set.copyOf(open)) {
            if (each.dead) {
                each.close();
            }
        }
        swallows = true;
        open.forEach(each -> each.dead = true);
    }

    /** Passes on what comes by connections that are opened from now on. */
    public void heal() {
        swallows = false;
    }

    private void accept() {
        try {
            while (true) {
                Socket client = listener.accept();
                Socket server;
                try {
                    server = new Socket(InetAddress.getLoopbackAddress(), target);
                } catch (IOException e) {
                    // The server does not listen.
                    client.close();
                    continue;
                }
                Connection connection = new Connection(client, server, swallows);
                open.add(connection);
                connections.incrementAndGet();
                // It may have begun before this one was there to be seen.
                if (swallows) {
                    connection.dead = true;
                }
                run(() -> connection.pass(connection.client, connection.server));
                run(() -> connection.pass(connection.server, connection.client));
            }
        } catch (IOException e) {
            // closed
        }
    }

    private static void run(Runnable work) {
        Thread thread = new Thread(work, "breakable-path");
        thread.setDaemon(true);
        thread.start();
    }

    private final class Connection {

        private final Socket client;
        private final Socket server;
        private volatile boolean dead;

        Connection(Socket client, Socket server, boolean dead) {
            this.client = client;
            this.server = server;
            this.dead = dead;
        }

        void pass(Socket from, Socket to) {
            try {
                InputStream in = from.getInputStream();
                OutputStream out = to.getOutputStream();
                byte[] bytes = new byte[1 << 16];
                for (int n = in.read(bytes); n >= 0; n = in.read(bytes)) {
                    if (!dead) {
                        out.write(bytes, 0, n);
                    }
                }
            } catch (IOException e) {
                // broken, by one side or by this
            }
            if (!dead) {
                close();
            }
        }

        void close() {
            open.remove(this);
            try {
                client.close();
                server.close();
            } catch (IOException e) {
                // broken by one side
            }
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        cut();
    }
}
