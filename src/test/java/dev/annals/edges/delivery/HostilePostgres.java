package dev.annals.edges.delivery;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/** Speaks PostgreSQL's protocol up to some point, and does harm from there on. */
public final class HostilePostgres implements AutoCloseable {

    private static final int SSL_REQUEST = 80_877_103;
    private static final int INT4 = 23;
    private static final int INT4_ARRAY = 1007;
    private static final byte[] NOTHING = {};

    /** The behaviour of the server on a connection. */
    private interface Script {
        void run(DataInputStream in, DataOutputStream out) throws IOException;
    }

    /** An attack. */
    public enum Attack {
        SILENCE((in, out) -> in.readAllBytes()),
        DRIBBLE((in, out) -> {
            startup(in);
            out.write(new byte[] {'R', 0, 0, 1, 0});
            dribble(out);
        }),
        DRIBBLE_AFTER_THE_LOGIN((in, out) -> {
            logIn(in, out);
            out.write(new byte[] {'E', 0, 1, 0, 0});
            dribble(out);
        }),
        TLS_THAT_NEVER_COMES((in, out) -> {
            in.readFully(new byte[8]);
            out.write('S');
            in.readAllBytes();
        }),
        MORE_THAN_TLS((in, out) -> {
            in.readFully(new byte[8]);
            out.write(new byte[] {'S', 'E', 0, 0, 0, 4});
            in.readAllBytes();
        }),
        ITERATIONS((in, out) -> {
            startup(in);
            challenge(in, out, "2000000000");
        }),
        MANY_CHALLENGES((in, out) -> {
            startup(in);
            byte[] challenge = challenge(in, out, "100000");
            for (int i = 0; i < 1_000; i++) {
                send(out, 'R', challenge);
            }
            in.readAllBytes();
        }),
        LARGE_LOGIN((in, out) -> {
            startup(in);
            announce(out, 'R');
        }),
        LARGE_ERROR((in, out) -> {
            logIn(in, out);
            announce(out, 'E');
        }),
        LARGE_ROW((in, out) -> {
            logIn(in, out);
            answer(in, out, Map.of('E', whole('D', new byte[300_000])));
        }),
        ENDLESS_NOTICES((in, out) -> {
            logIn(in, out);
            byte[] notice = whole('N', text("SWARNING", "C01000", "M" + "x".repeat(1_000), ""));
            while (true) {
                out.write(notice);
            }
        }),
        ENDLESS_ROWS((in, out) -> {
            logIn(in, out);
            ByteArrayOutputStream rows = new ByteArrayOutputStream();
            for (int i = 0; i < 1_000_000; i++) {
                rows.write(whole('D', new byte[] {0, 1, 0, 0, 0, 4, 0, 0, 0, 1}));
            }
            answer(in, out, Map.of('D', columns(INT4), 'E', rows.toByteArray()));
        }),
        MANY_COLUMNS((in, out) -> {
            logIn(in, out);
            int[] types = new int[65_535];
            Arrays.fill(types, INT4);
            answer(in, out, Map.of('D', columns(types)));
        }),
        ARRAY((in, out) -> {
            logIn(in, out);
            ByteArrayOutputStream row = new ByteArrayOutputStream();
            DataOutputStream data = new DataOutputStream(row);
            data.writeShort(1);
            data.writeInt(20);
            // One dimension, no nulls, of int4, of so many elements, from the first one on.
            for (int number : new int[] {1, 0, INT4, Integer.MAX_VALUE - 8, 1}) {
                data.writeInt(number);
            }
            answer(in, out, Map.of('D', columns(INT4_ARRAY), 'E', whole('D', row.toByteArray())));
        }),
        ERROR_WITHOUT_A_CODE((in, out) -> {
            logIn(in, out);
            send(out, 'E', text("SERROR", "Mno code", ""));
            in.readAllBytes();
        }),
        ERROR_WITH_A_STRANGE_CODE((in, out) -> {
            logIn(in, out);
            answer(in, out, Map.of('D', whole('E', text("SERROR", "C22\nfaked", "M", ""))));
        });

        private final Script script;

        Attack(Script script) {
            this.script = script;
        }
    }

    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final Attack attack;
    /** The number of open connections. */
    final AtomicInteger open = new AtomicInteger();

    final AtomicInteger accepted = new AtomicInteger();

    /** Begins to listen. */
    public HostilePostgres(Attack attack) throws IOException {
        this.attack = attack;
        start(this::accept);
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work, "hostile PostgreSQL");
        thread.setDaemon(true);
        thread.start();
    }

    /** The URL of a stream. */
    public String url() {
        String mode = attack.name().contains("TLS") ? "require" : "disable";
        return "postgresql://u@127.0.0.1:" + server.getLocalPort() + "/d?sslmode=" + mode;
    }

    private void accept() {
        while (!server.isClosed()) {
            try {
                Socket caller = server.accept();
                accepted.incrementAndGet();
                open.incrementAndGet();
                start(() -> serve(caller));
            } catch (IOException e) {
                return;
            }
        }
    }

    private void serve(Socket caller) {
        try (caller) {
            attack.script.run(
                    new DataInputStream(caller.getInputStream()), new DataOutputStream(caller.getOutputStream()));
        } catch (IOException e) {
            // It has hung up.
        } finally {
            open.decrementAndGet();
        }
    }

    private static void startup(DataInputStream in) throws IOException {
        int length = in.readInt();
        byte[] rest = new byte[length - Integer.BYTES];
        in.readFully(rest);
        if (new DataInputStream(new ByteArrayInputStream(rest)).readInt() == SSL_REQUEST) {
            throw new EOFException("TLS was not asked for");
        }
    }

    private static void logIn(DataInputStream in, DataOutputStream out) throws IOException {
        startup(in);
        send(out, 'R', new byte[4]);
        send(out, 'S', text("client_encoding", "UTF8"));
        send(out, 'S', text("server_version", "16.4"));
        send(out, 'K', new byte[8]);
        send(out, 'Z', new byte[] {'I'});
    }

    /** Asks for so many iterations, and gives the challenge. */
    private static byte[] challenge(DataInputStream in, DataOutputStream out, String iterations) throws IOException {
        send(out, 'R', numbered(10, text("SCRAM-SHA-256", "")));
        String first = new String(read(in), StandardCharsets.US_ASCII);
        String nonce = first.substring(first.indexOf(",r=") + 3);
        String challenge = "r=" + nonce + "x,s=" + "c2FsdHNhbHRzYWx0c2FsdA==" + ",i=" + iterations;
        byte[] message = numbered(11, challenge.getBytes(StandardCharsets.US_ASCII));
        send(out, 'R', message);
        return message;
    }

    /** Answers statements as the first one of a sink wants it, but for some messages of the client, by their types. */
    private static void answer(DataInputStream in, DataOutputStream out, Map<Character, byte[]> others)
            throws IOException {
        Map<Character, byte[]> answers = new TreeMap<>(Map.of(
                'P', whole('1', NOTHING),
                'D', whole('n', NOTHING),
                'B', whole('2', NOTHING),
                'E', NOTHING,
                'S', whole('Z', new byte[] {'I'})));
        answers.putAll(others);
        while (true) {
            char type = (char) in.readUnsignedByte();
            byte[] body = new byte[in.readInt() - Integer.BYTES];
            in.readFully(body);
            if (type == 'D') {
                send(out, 't', new byte[2]);
            }
            out.write(answers.getOrDefault(type, NOTHING));
            if (type == 'E') {
                send(out, 'C', text("SELECT 1"));
            }
            out.flush();
        }
    }

    private static byte[] columns(int... types) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream data = new DataOutputStream(bytes);
        data.writeShort(types.length);
        for (int type : types) {
            data.write(text("c"));
            data.writeInt(0);
            data.writeShort(0);
            data.writeInt(type);
            data.writeShort(-1);
            data.writeInt(-1);
            data.writeShort(1);
        }
        return whole('T', bytes.toByteArray());
    }

    /** A byte from time to time. */
    private static void dribble(OutputStream out) throws IOException {
        while (true) {
            out.write(0);
            out.flush();
            LockSupport.parkNanos(100_000_000);
        }
    }

    /** A message of a gigabyte and a half, or of as much of it as is read. */
    private static void announce(DataOutputStream out, char type) throws IOException {
        out.write(type);
        out.writeInt(1_500_000_000);
        byte[] part = new byte[65_536];
        for (long sent = 0; sent < 1_500_000_000; sent += part.length) {
            out.write(part);
        }
    }

    /** Reads a message's body. */
    private static byte[] read(DataInputStream in) throws IOException {
        in.readByte();
        byte[] body = new byte[in.readInt() - Integer.BYTES];
        in.readFully(body);
        return body;
    }

    private static void send(DataOutputStream out, char type, byte[] body) throws IOException {
        out.write(whole(type, body));
        out.flush();
    }

    private static byte[] whole(char type, byte[] body) {
        return bytes(data -> {
            data.write(type);
            data.writeInt(Integer.BYTES + body.length);
            data.write(body);
        });
    }

    private static byte[] numbered(int number, byte[] body) {
        return bytes(data -> {
            data.writeInt(number);
            data.write(body);
        });
    }

    private static byte[] text(String... texts) {
        return bytes(data -> {
            for (String text : texts) {
                data.write(text.getBytes(StandardCharsets.UTF_8));
                data.write(0);
            }
        });
    }

    private interface Writer {
        void write(DataOutputStream data) throws IOException;
    }

    private static byte[] bytes(Writer writer) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            writer.write(new DataOutputStream(bytes));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
