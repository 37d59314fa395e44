package dev.annals.append;

import dev.annals.database.DatabaseUrl;
import dev.annals.database.DatabaseUrlConfigSource;
import dev.annals.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResourceLifecycleManager;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The tests' database behind connections that break where a statement says so. The first time that one with the text
 * {@code lose-request-…} comes by, its connection breaks before the server has seen it; with {@code lose-answer-…} the
 * server runs and commits it, and the connection breaks before anybody learns of that.
 */
public final class UnreliableDatabase implements QuarkusTestResourceLifecycleManager {

    // A system property, because Quarkus loads this class more than once in a JVM.
    private static final String BREAKS = "test-database.breaks";
    private static final Pattern MARK = Pattern.compile("lose-(request|answer)-[0-9a-f-]{36}");

    private final Set<String> seen = ConcurrentHashMap.newKeySet();
    private ServerSocket listener;

    /** How often a connection was broken. */
    static int breaks() {
        return Integer.getInteger(BREAKS, 0);
    }

    @Override
    public int order() {
        // Its URL stands in place of the database's own.
        return 1;
    }

    @Override
    public Map<String, String> start() {
        DatabaseUrl database = TestDatabase.url();
        try {
            listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        run(() -> accept(database));
        DatabaseUrl through = new DatabaseUrl(
                database.user(),
                database.password(),
                "127.0.0.1",
                listener.getLocalPort(),
                database.database(),
                database.parameters());
        return Map.of(DatabaseUrlConfigSource.DATABASE_URL, through.withPassword());
    }

    @Override
    public void stop() {
        try {
            listener.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void accept(DatabaseUrl database) {
        try {
            while (true) {
                Socket client = listener.accept();
                Connection connection = new Connection(client, new Socket(database.host(), database.port()));
                run(connection::passRequests);
                run(connection::passAnswers);
            }
        } catch (IOException e) {
            // closed
        }
    }

    private static void run(Runnable work) {
        Thread thread = new Thread(work, "unreliable-database");
        thread.setDaemon(true);
        thread.start();
    }

    /** One connection of a client, passed on to the server. */
    private final class Connection {

        private final Socket client;
        private final Socket server;
        private volatile boolean loseAnswer;

        Connection(Socket client, Socket server) {
            this.client = client;
            this.server = server;
        }

        void passRequests() {
            try (client;
                    server) {
                InputStream in = client.getInputStream();
                OutputStream out = server.getOutputStream();
                byte[] bytes = new byte[1 << 16];
                for (int n = in.read(bytes); n >= 0; n = in.read(bytes)) {
                    Matcher mark = MARK.matcher(new String(bytes, 0, n, StandardCharsets.ISO_8859_1));
                    if (mark.find() && seen.add(mark.group())) {
                        System.setProperty(BREAKS, Integer.toString(breaks() + 1));
                        if (mark.group(1).equals("request")) {
                            return;
                        }
                        loseAnswer = true;
                    }
                    out.write(bytes, 0, n);
                }
            } catch (IOException e) {
                // broken, by one side or by this
            }
        }

        void passAnswers() {
            try (client;
                    server) {
                InputStream in = server.getInputStream();
                OutputStream out = client.getOutputStream();
                byte[] bytes = new byte[1 << 16];
                // PostgreSQL sends nothing of a statement before its commit, unless there is more than its buffer
                // holds.
                for (int n = in.read(bytes); n >= 0 && !loseAnswer; n = in.read(bytes)) {
                    out.write(bytes, 0, n);
                }
            } catch (IOException e) {
                // broken, by one side or by this
            }
        }
    }
}
