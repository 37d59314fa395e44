package dev.annals.edges.delivery;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A server with one answer to every request. */
final class FixedAnswer implements AutoCloseable {

    /** The paths that were asked for. */
    final List<String> asked = new CopyOnWriteArrayList<>();

    private final HttpServer server;

    /** @param status a redirect leads to {@code /elsewhere} of this server */
    FixedAnswer(int status, String body) throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0), 0);
        server.createContext("/", exchange -> {
            try (exchange) {
                asked.add(exchange.getRequestURI().toString());
                byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
                exchange.getResponseHeaders().set("Location", url() + "/elsewhere");
                exchange.sendResponseHeaders(status, bytes.length);
                exchange.getResponseBody().write(bytes);
            }
        });
        server.start();
    }

    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
