package dev.annals;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Runs commands of the client to load their classes, which {@code docker/annals} archives. */
final class Training {

    private static final String RECORD = """
            {"id": "01a21005-f278-7a2e-b080-3abf6b4fc533", "sequence_id": 1, "action": "train", "outcome": "success",
             "timestamp": "2026-01-01T00:00:00Z", "recorded_at": "2026-01-01T00:00:00Z", "actor": {"type": "user",
             "name": "nobody"}, "message": "Nothing"}""".replace("\n", "");

    /** Contains everything that the commands read. */
    private static final String ANSWER = """
            {"next": null, "poll_more": "/v1/project-logs?cursor=1-00000000", "results": [%s], "complete": true,
             "total": 1, "fields": {}, "stored": 1, "last_sequence_id": 1, "refusals": [], "scopes": ["read"],
             "project": {"id": "1", "name": "training", "closed_at": null}, "token_id": null, "expires_at": null}
            """.formatted(RECORD);

    private static final List<List<String>> COMMANDS = List.of(
            List.of("search", "--json", "-n=1", "action:train"),
            List.of("search", "--facets"),
            List.of("tail"),
            List.of("append", "--action=train", "--actor-name=nobody"),
            List.of("whoami"));

    private Training() {}

    /** Exit code 0: all commands succeeded. */
    public static void main(String... arguments) throws IOException {
        byte[] answer = ANSWER.getBytes(StandardCharsets.UTF_8);
        HttpServer service = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        service.createContext("/", exchange -> {
            try (exchange) {
                exchange.getRequestBody().readAllBytes();
                exchange.sendResponseHeaders(200, answer.length);
                exchange.getResponseBody().write(answer);
            }
        });
        service.start();
        int failed = 0;
        for (List<String> command : COMMANDS) {
            String[] line = new String[command.size() + 2];
            command.toArray(line);
            line[command.size()] =
                    "--url=http://localhost:" + service.getAddress().getPort();
            line[command.size() + 1] = "--patience=0";
            failed |= Annals.run(line);
        }
        System.exit(failed);
    }
}
