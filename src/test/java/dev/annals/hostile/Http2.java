package dev.annals.hostile;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Requests as HTTP/2 frames, for a server that is taken to speak it without being asked (RFC 9113, section 3.3). */
final class Http2 {

    private static final int DATA = 0;
    private static final int HEADERS = 1;
    private static final int SETTINGS = 4;
    private static final int END_STREAM = 1;
    private static final int END_HEADERS = 4;
    private static final int FRAME_BYTES = 16_384;

    private Http2() {}

    /** A whole connection of one request, without a token. Its body has to fit the window of 65,535 bytes. */
    static byte[] post(String path, String encoding, byte[] body) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        frame(out, SETTINGS, 0, 0, new byte[0], 0, 0);
        ByteArrayOutputStream headers = new ByteArrayOutputStream();
        header(headers, ":method", "POST");
        header(headers, ":scheme", "http");
        header(headers, ":authority", "127.0.0.1");
        header(headers, ":path", path);
        header(headers, "content-type", "application/json");
        header(headers, "content-encoding", encoding);
        frame(out, HEADERS, END_HEADERS, 1, headers.toByteArray(), 0, headers.size());
        for (int from = 0; from < body.length; from += FRAME_BYTES) {
            int length = Math.min(FRAME_BYTES, body.length - from);
            frame(out, DATA, from + length == body.length ? END_STREAM : 0, 1, body, from, length);
        }
        return out.toByteArray();
    }

    /** A field as HPACK has it (RFC 7541, section 6.2.2): a literal, neither indexed nor compressed. */
    private static void header(ByteArrayOutputStream out, String name, String value) {
        out.write(0);
        out.write(name.length());
        out.writeBytes(name.getBytes(StandardCharsets.US_ASCII));
        out.write(value.length());
        out.writeBytes(value.getBytes(StandardCharsets.US_ASCII));
    }

    private static void frame(
            ByteArrayOutputStream out, int type, int flags, int stream, byte[] payload, int from, int length) {
        out.write(length >> 16);
        out.write(length >> 8);
        out.write(length);
        out.write(type);
        out.write(flags);
        for (int shift = 24; shift >= 0; shift -= 8) {
            out.write(stream >> shift);
        }
        out.write(payload, from, length);
    }
}
