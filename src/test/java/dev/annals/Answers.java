package dev.annals;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;

/** Answers of a server that stands in the service's place, where a test needs what the service does not say. */
public final class Answers {

    private Answers() {}

    /**
     * A problem.
     *
     * @param pointer to what is wrong; empty if it names nothing
     */
    public static void problem(HttpExchange exchange, int status, String type, String pointer) throws IOException {
        String errors =
                pointer.isEmpty() ? "" : ",\"errors\":[{\"pointer\":\"" + pointer + "\",\"detail\":\"is wrong\"}]";
        send(
                exchange,
                status,
                "application/problem+json",
                "{\"type\":\"urn:annals:problem:" + type + "\"" + errors + "}");
    }

    /** Any answer. */
    public static void send(HttpExchange exchange, int status, String type, String body) throws IOException {
        byte[] bytes = body.getBytes(UTF_8);
        exchange.getResponseHeaders().add("Content-Type", type);
        exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
        exchange.getResponseBody().write(bytes);
    }
}
