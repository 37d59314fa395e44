package dev.annals.kernel.connection;

import dev.annals.AuditLogFixture;
import io.restassured.RestAssured;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PushbackInputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A connection to the service under test that sends any bytes. */
public final class RawConnection implements AutoCloseable {

    private static final int LIMIT_MILLIS = 60_000;
    private static final Pattern LENGTH = Pattern.compile("(?i)\r\ncontent-length: *([0-9]+)");

    private final Socket socket = new Socket();
    private final PushbackInputStream in;

    public RawConnection() throws IOException {
        this("127.0.0.1");
    }

    /** @param from its own address in the loopback network */
    public RawConnection(String from) throws IOException {
        this(from, 0);
    }

    private RawConnection(String from, int bufferBytes) throws IOException {
        if (bufferBytes > 0) {
            socket.setReceiveBufferSize(bufferBytes);
        }
        socket.bind(new InetSocketAddress(InetAddress.getByName(from), 0));
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), RestAssured.port), LIMIT_MILLIS);
        socket.setSoTimeout(LIMIT_MILLIS);
        in = new PushbackInputStream(socket.getInputStream());
    }

    /** A connection with small network buffers. */
    static RawConnection withLittleRoom(String from) throws IOException {
        return new RawConnection(from, 4_096);
    }

    public RawConnection send(String text) throws IOException {
        return send(text.getBytes(StandardCharsets.UTF_8));
    }

    public RawConnection send(byte[] bytes) throws IOException {
        socket.getOutputStream().write(bytes);
        return this;
    }

    /** Sends the head of an append, and {@code bytes} of a body with a declared length. */
    public RawConnection beginAppend(String token, String type, int length, byte[] bytes) throws IOException {
        String path = type.equals("application/x-ndjson") ? AuditLogFixture.IMPORT : AuditLogFixture.LOGS;
        return send("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token
                        + "\r\nContent-Type: " + type + "\r\nContent-Length: " + length + "\r\n\r\n")
                .send(bytes);
    }

    /** The next head without a body, such as 100 Continue. */
    public String head() throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            int next = read();
            if (next < 0) {
                break;
            }
            head.append((char) next);
        }
        return head.toString();
    }

    /** The answer, from its status line to the end of its body; empty if the connection ends without one. */
    public String answer() throws IOException {
        ByteArrayOutputStream answer = new ByteArrayOutputStream();
        while (true) {
            String text = answer.toString(StandardCharsets.ISO_8859_1);
            int body = text.indexOf("\r\n\r\n") + 4;
            Matcher length = LENGTH.matcher(text);
            if (body > 3 && length.find() && text.length() >= body + Integer.parseInt(length.group(1))) {
                return text;
            }
            int next = read();
            if (next < 0) {
                return text;
            }
            answer.write(next);
        }
    }

    private int read() throws IOException {
        try {
            return in.read();
        } catch (SocketException reset) {
            return -1;
        }
    }

    /** The answer while a byte is sent every now and then, {@code most} times at most. */
    public String answerWhileSending(char each, int most) throws IOException {
        for (int sent = 0; sent < most && !isAnswered(); sent++) {
            try {
                socket.getOutputStream().write(each);
            } catch (SocketException closed) {
                // An earlier answer can still be read.
                return answer();
            }
        }
        return answer();
    }

    private boolean isAnswered() throws IOException {
        socket.setSoTimeout(50);
        try {
            int first = in.read();
            if (first >= 0) {
                in.unread(first);
            }
            return true;
        } catch (SocketTimeoutException notYet) {
            return false;
        } catch (SocketException reset) {
            return true;
        } finally {
            socket.setSoTimeout(LIMIT_MILLIS);
        }
    }

    /** Whether the service has closed it, or closes it now. */
    public boolean isClosed() throws IOException {
        return read() < 0;
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
