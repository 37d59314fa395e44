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
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The tests' database behind connections that break where a statement says so. The first time that one with the text
 * {@code lose-request-…} comes by, its connection breaks before the server has seen it; with {@code lose-answer-…} the
 * server runs and commits it, and the connection breaks before anybody learns of that. An {@code x4} behind the text
 * stands for the first four times.
 *
 * <p>With {@code take-record-…} or {@code take-append-…} and a project's id, another record is stored in that project
 * before the server sees the statement: under the id of the statement's first record, or of its first append.
 */
public final class UnreliableDatabase implements QuarkusTestResourceLifecycleManager {

    // A system property, because Quarkus loads this class more than once in a JVM.
    private static final String BREAKS = "test-database.breaks";
    private static final Pattern MARK =
            Pattern.compile("(lose-request|lose-answer|take-record|take-append)-([0-9a-f-]{36})(?:x([0-9]{1,3}))?");
    private static final int LONGEST_MARK = 64;
    private static final int UUID_BYTES = 16;
    /** Dimensions, flags, type, size and lower bound of an array, and the length of its first element. */
    private static final int ARRAY_HEADER_BYTES = 24;

    private final Map<String, Integer> seen = new ConcurrentHashMap<>();
    private ServerSocket listener;

    /** The action of a record that took an id ahead of its owner. */
    static final String TAKEN = "was quicker";

    /** How often a mark struck. */
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
                String before = "";
                for (int n = in.read(bytes); n >= 0; n = in.read(bytes)) {
                    String text = before + new String(bytes, 0, n, StandardCharsets.ISO_8859_1);
                    Matcher mark = MARK.matcher(text);
                    boolean marked = mark.find() && mayStrike(mark);
                    if (marked) {
                        System.setProperty(BREAKS, Integer.toString(breaks() + 1));
                        switch (mark.group(1)) {
                            case "lose-request" -> {
                                return;
                            }
                            case "lose-answer" -> loseAnswer = true;
                            default -> take(text, mark.start(), mark.group(1), UUID.fromString(mark.group(2)));
                        }
                    }
                    out.write(bytes, 0, n);
                    // A mark may lie across two reads; a whole one is found once.
                    before = mark.reset().find() ? "" : text.substring(Math.max(0, text.length() - LONGEST_MARK));
                }
            } catch (IOException e) {
                // broken, by one side or by this
            }
        }

        private boolean mayStrike(Matcher mark) {
            int times = mark.group(3) == null ? 1 : Integer.parseInt(mark.group(3));
            return seen.merge(mark.group(), 1, Integer::sum) <= times;
        }

        /**
         * Finds the ids in the binds before the mark: the project's, the records', and the appends' where there are many.
         */
        private void take(String text, int mark, String what, UUID project) {
            byte[] binds = text.getBytes(StandardCharsets.ISO_8859_1);
            ByteBuffer name = ByteBuffer.allocate(UUID_BYTES);
            name.putLong(project.getMostSignificantBits()).putLong(project.getLeastSignificantBits());
            int at = text.lastIndexOf(new String(name.array(), StandardCharsets.ISO_8859_1), mark) + UUID_BYTES;
            ByteBuffer values = ByteBuffer.wrap(binds);
            if (what.equals("take-append")) {
                at += Integer.BYTES + values.getInt(at);
            }
            at += Integer.BYTES + (values.getInt(at) == UUID_BYTES ? 0 : ARRAY_HEADER_BYTES);
            UUID id = new UUID(values.getLong(at), values.getLong(at + Long.BYTES));
            try (java.sql.Connection writer = TestDatabase.url().connect();
                    PreparedStatement insert = writer.prepareStatement(
                            "insert into annals.audit_record (project_id, id, placed_with, action) values (?, ?, ?, ?)")) {
                insert.setObject(1, project);
                insert.setObject(2, id);
                insert.setObject(3, id);
                insert.setString(4, TAKEN);
                insert.executeUpdate();
            } catch (SQLException e) {
                throw new IllegalStateException(e);
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
