package dev.annals.core.feed;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.HttpURLConnection;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** The client of a stream of Server-Sent Events, block by block. */
public final class SseStream implements AutoCloseable {

    private final HttpURLConnection connection;
    private final BufferedReader lines;

    private SseStream(HttpURLConnection connection) throws IOException {
        this.connection = connection;
        this.lines = new BufferedReader(new InputStreamReader(connection.getInputStream(), StandardCharsets.UTF_8));
    }

    /** The lines between two empty lines; a field that is missing is null. */
    public record Block(
            @Nullable String id,
            @Nullable String event,
            @Nullable String data,
            @Nullable String retry,
            boolean comment) {}

    // A plain socket: the client of java.net.http leaves some connections open after an answer is closed unread.
    public static SseStream open(HttpRequest request) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) request.uri().toURL().openConnection();
        request.headers()
                .map()
                .forEach((name, values) -> values.forEach(value -> connection.addRequestProperty(name, value)));
        assertThat(connection.getResponseCode()).isEqualTo(200);
        assertThat(connection.getContentType()).contains("text/event-stream");
        return new SseStream(connection);
    }

    @Nullable
    String header(String name) {
        return connection.getHeaderField(name);
    }

    /** The next block; an empty one at the end of the stream. */
    public Block next() throws IOException {
        Block block = new Block(null, null, null, null, false);
        for (String line = lines.readLine(); line != null && !line.isEmpty(); line = lines.readLine()) {
            String value = line.substring(Math.min(line.length(), line.indexOf(':') + 2));
            block = switch (line.substring(0, line.indexOf(':'))) {
                case "id" -> new Block(value, block.event, block.data, block.retry, block.comment);
                case "event" -> new Block(block.id, value, block.data, block.retry, block.comment);
                case "data" -> {
                    assertThat(block.data).as("a record is one line").isNull();
                    yield new Block(block.id, block.event, value, block.retry, block.comment);
                }
                case "retry" -> new Block(block.id, block.event, block.data, value, block.comment);
                case "" -> new Block(block.id, block.event, block.data, block.retry, true);
                default -> throw new AssertionError(line);
            };
        }
        return block;
    }

    /** The next block with data. */
    public Block nextEvent() throws IOException {
        Block block = next();
        while (block.data == null) {
            assertThat(block).as("the stream has ended").isNotEqualTo(new Block(null, null, null, null, false));
            block = next();
        }
        return block;
    }

    @Override
    public void close() throws IOException {
        connection.disconnect();
    }
}
