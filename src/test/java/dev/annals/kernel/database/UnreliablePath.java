package dev.annals.kernel.database;

import dev.annals.tools.embedded.TestDatabase;
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
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The tests' database behind a path that fails as a test asks.
 *
 * <p>It can drop everything for a while, like a network that has forgotten its connections: they stay open at both ends, which
 * do not notice.
 *
 * <p>It breaks a connection if a statement says so. When a statement with the text {@code lose-request-…} arrives for the first
 * time, its connection breaks before the server has seen it; with {@code lose-answer-…} the server runs and commits it, and the
 * connection breaks before the answer. An {@code x4} after the text stands for the first four times.
 *
 * <p>With {@code take-record-…} or {@code take-append-…} and a project's id, another record is stored in that project before
 * the server sees the statement: under the id of the statement's first record, or of its first append.
 */
public final class UnreliablePath implements QuarkusTestResourceLifecycleManager {

    // System properties, because Quarkus loads this class more than once in a JVM.
    private static final String FROZEN = "test-database.frozen";
    private static final String CONNECTIONS = "test-database.connections";
    private static final String FREEZES = "test-database.freezes";
    private static final String BREAKS = "test-database.breaks";

    private static final Pattern MARK =
            Pattern.compile("(lose-request|lose-answer|take-record|take-append)-([0-9a-f-]{36})(?:x([0-9]{1,3}))?");
    private static final int LONGEST_MARK = 64;
    private static final int UUID_BYTES = 16;
    /** Dimensions, flags, type, size and lower bound of an array, and the length of its first element. */
    private static final int ARRAY_HEADER_BYTES = 24;
    /** The bytes between the type of an array's elements and its first element. */
    private static final int ELEMENT_TYPE = 16;

    /** PostgreSQL's number of the type. */
    private static final int UUID_TYPE = 2950;

    private final Map<String, Integer> seen = new ConcurrentHashMap<>();
    private ServerSocket listener;

    /** The action of a record that took an id ahead of its owner. */
    private static final String TAKEN = "was quicker";

    /** Drops everything: connections that are open now stay open for good and pass nothing on, not even their end. */
    static void freeze() {
        System.setProperty(FREEZES, Integer.toString(freezes() + 1));
        System.setProperty(FROZEN, "true");
    }

    private static int freezes() {
        return Integer.getInteger(FREEZES, 0);
    }

    /** Passes on everything on connections that are opened from now on. */
    static void thaw() {
        System.clearProperty(FROZEN);
    }

    /** The number of connections that the service has opened so far. */
    static int connections() {
        return Integer.getInteger(CONNECTIONS, 0);
    }

    /** The number of marks that broke a connection. */
    public static int breaks() {
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
                Path path = new Path(client, new Socket(database.host(), database.port()));
                run(path::passRequests);
                run(path::passAnswers);
            }
        } catch (IOException e) {
            // closed
        }
    }

    private static void run(Runnable work) {
        Thread thread = new Thread(work, "unreliable-path");
        thread.setDaemon(true);
        thread.start();
    }

    /** One connection of a client, passed on to the server until the path freezes; after that it passes nothing any more. */
    private final class Path {

        private final Socket client;
        private final Socket server;
        private final int freezesBefore = freezes();
        private volatile boolean loseAnswer;

        Path(Socket client, Socket server) {
            this.client = client;
            this.server = server;
        }

        void passRequests() {
            String before = "";
            try {
                InputStream in = client.getInputStream();
                OutputStream out = server.getOutputStream();
                byte[] bytes = new byte[1 << 16];
                for (int n = in.read(bytes); n >= 0; n = in.read(bytes)) {
                    String text = before + new String(bytes, 0, n, StandardCharsets.ISO_8859_1);
                    Matcher mark = MARK.matcher(text);
                    boolean found = mark.find();
                    if (found && mayStrike(mark)) {
                        System.setProperty(BREAKS, Integer.toString(breaks() + 1));
                        switch (mark.group(1)) {
                            case "lose-request" -> {
                                close();
                                return;
                            }
                            case "lose-answer" -> loseAnswer = true;
                            default -> take(text, mark.start(), mark.group(1), UUID.fromString(mark.group(2)));
                        }
                    }
                    if (isWhole()) {
                        out.write(bytes, 0, n);
                    }
                    // A mark may lie across two reads; a whole one is found once.
                    before = found ? "" : text.substring(Math.max(0, text.length() - LONGEST_MARK));
                }
            } catch (IOException e) {
                // broken, by one side or by this
            }
            close();
        }

        void passAnswers() {
            try {
                InputStream in = server.getInputStream();
                OutputStream out = client.getOutputStream();
                byte[] bytes = new byte[1 << 16];
                // PostgreSQL sends nothing of a statement before its commit, unless there is more than its buffer
                // holds.
                for (int n = in.read(bytes); n >= 0 && !loseAnswer; n = in.read(bytes)) {
                    if (isWhole()) {
                        out.write(bytes, 0, n);
                    }
                }
            } catch (IOException e) {
                // broken, by one side or by this
            }
            close();
        }

        private boolean isWhole() {
            return freezes() == freezesBefore && !Boolean.getBoolean(FROZEN);
        }

        // A frozen path leaves both ends open.
        private void close() {
            if (isWhole()) {
                try {
                    client.close();
                    server.close();
                } catch (IOException e) {
                    // broken by one side
                }
            }
        }

        private boolean mayStrike(Matcher mark) {
            int times = mark.group(3) == null ? 1 : Integer.parseInt(mark.group(3));
            return seen.merge(mark.group(), 1, Integer::sum) <= times;
        }

        /**
         * Finds the ids in the binds before the mark. In a statement for one record, its id follows the project's. In a
         * statement for many, the projects of the appends, which have numbers next, or else those of the records are the last
         * projects before the mark. The appends' ids precede their projects. The first later array of ids that is not empty has
         * the records' ids. Without projects of appends, the array after it has the appends' ids.
         */
        private void take(String text, int mark, String what, UUID project) {
            ByteBuffer values = ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1));
            ByteBuffer name = ByteBuffer.allocate(UUID_BYTES);
            name.putLong(project.getMostSignificantBits()).putLong(project.getLeastSignificantBits());
            int at = text.lastIndexOf(new String(name.array(), StandardCharsets.ISO_8859_1), mark);
            boolean isArray = values.getInt(at - ELEMENT_TYPE) == UUID_TYPE;
            if (!isArray) {
                at += UUID_BYTES + Integer.BYTES;
            } else {
                int projects = at - ARRAY_HEADER_BYTES - Integer.BYTES;
                int next = after(values, projects);
                boolean isOfAppends = values.getInt(next + ELEMENT_TYPE - Integer.BYTES) != UUID_TYPE;
                if (what.equals("take-append") && isOfAppends) {
                    // as long as the array of their projects
                    at -= Integer.BYTES + values.getInt(projects);
                } else {
                    while (values.getInt(next + Integer.BYTES) == 0
                            || values.getInt(next + ELEMENT_TYPE - Integer.BYTES) != UUID_TYPE) {
                        next = after(values, next);
                    }
                    at = (what.equals("take-append") ? after(values, next) : next) + Integer.BYTES + ARRAY_HEADER_BYTES;
                }
            }
            UUID id = new UUID(values.getLong(at), values.getLong(at + Long.BYTES));
            try (Connection writer = TestDatabase.url().connect();
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

        /** The index of the value after another one, with its length. */
        private static int after(ByteBuffer values, int at) {
            return at + Integer.BYTES + values.getInt(at);
        }
    }
}
