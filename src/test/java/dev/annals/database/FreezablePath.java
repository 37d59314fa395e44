package dev.annals.database;

import dev.annals.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResourceLifecycleManager;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.Map;

/**
 * The tests' database behind a path that can swallow everything for a while, as a network does that has forgotten its
 * connections: they stay open at both ends, which learn nothing. The service has little patience, unless {@link #PATIENT} is
 * set.
 */
public final class FreezablePath implements QuarkusTestResourceLifecycleManager {

    /** The argument that leaves the service the time limits that it has by default. */
    static final String PATIENT = "patient";

    // System properties, because Quarkus loads this class more than once in a JVM.
    private static final String FROZEN = "test-database.frozen";
    private static final String CONNECTIONS = "test-database.connections";
    private static final String FREEZES = "test-database.freezes";
    private static final String QUESTIONS = "test-database.questions";

    /** What asks a server whether it is there, without logging in: its length, and PostgreSQL's SSLRequest. */
    private static final byte[] QUESTION = {0, 0, 0, 8, 4, (byte) 0xd2, 0x16, 0x2f};

    private ServerSocket listener;
    private boolean patient;

    @Override
    public void init(Map<String, String> arguments) {
        patient = arguments.containsKey(PATIENT);
    }

    /** Swallows everything: what is open now stays so for good and passes nothing on, not even its end. */
    static void freeze() {
        System.setProperty(FREEZES, Integer.toString(freezes() + 1));
        System.setProperty(FROZEN, "true");
    }

    private static int freezes() {
        return Integer.getInteger(FREEZES, 0);
    }

    /** Passes on what comes by connections that are opened from now on. */
    static void thaw() {
        System.clearProperty(FROZEN);
    }

    /** How many connections the service has opened so far. */
    static int connections() {
        return Integer.getInteger(CONNECTIONS, 0);
    }

    /** How often the service has asked whether the server is there. */
    static int questions() {
        return Integer.getInteger(QUESTIONS, 0);
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
        if (patient) {
            return Map.of(DatabaseUrlConfigSource.DATABASE_URL, through.withPassword());
        }
        return Map.of(
                DatabaseUrlConfigSource.DATABASE_URL,
                through.withPassword(),
                "annals.database.statement-timeout",
                "2s",
                "annals.database.lock-timeout",
                "1s",
                "annals.database.answer-timeout",
                "500ms",
                "annals.database.connect-timeout",
                "2s",
                "annals.database.ready-timeout",
                "1s");
    }

    @Override
    public void stop() {
        thaw();
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
                System.setProperty(CONNECTIONS, Integer.toString(connections() + 1));
                Path path = new Path(client, new Socket(database.host(), database.port()), freezes());
                run(path::passRequests);
                run(path::passAnswers);
            }
        } catch (IOException e) {
            // closed
        }
    }

    private static void run(Runnable work) {
        Thread thread = new Thread(work, "freezable-path");
        thread.setDaemon(true);
        thread.start();
    }

    /** One connection of a client, passed on to the server until the path freezes; after that it passes nothing any more. */
    private record Path(Socket client, Socket server, int freezesBefore) {

        void passRequests() {
            pass(client, server);
        }

        void passAnswers() {
            pass(server, client);
        }

        private void pass(Socket from, Socket to) {
            try {
                InputStream in = from.getInputStream();
                OutputStream out = to.getOutputStream();
                byte[] bytes = new byte[1 << 16];
                for (int n = in.read(bytes); n >= 0; n = in.read(bytes)) {
                    if (Arrays.equals(bytes, 0, n, QUESTION, 0, QUESTION.length)) {
                        System.setProperty(QUESTIONS, Integer.toString(questions() + 1));
                    }
                    if (isWhole()) {
                        out.write(bytes, 0, n);
                    }
                }
                if (isWhole()) {
                    client.close();
                    server.close();
                }
            } catch (IOException e) {
                // broken by one side
            }
        }

        private boolean isWhole() {
            return freezes() == freezesBefore && !Boolean.getBoolean(FROZEN);
        }
    }
}
