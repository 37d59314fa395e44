package dev.annals.edges.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests to sinks say where they go as HTTP wants it. */
@BesideTheService
class HttpExchangeTest {

    private static final Vertx VERTX = Vertx.vertx();

    @AfterAll
    static void close() {
        VERTX.close().toCompletionStage().toCompletableFuture().join();
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "[::1]"})
    void theHostIsSentAsTheUrlHasIt(String host) throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getByName(host))) {
            CompletableFuture<String> sent = CompletableFuture.supplyAsync(() -> hostOf(server));
            String authority = host + ":" + server.getLocalPort();
            Targets targets = new Targets(List.of("127.0.0.1", "::1"), InetAddress::getAllByName, VERTX);
            new HttpExchange(targets, VERTX.createHttpClient(), Duration.ofSeconds(10))
                    .send(new HttpExchange.Request(
                            HttpMethod.POST, URI.create("http://" + authority + "/x"), Map.of(), Buffer.buffer("{}")))
                    .await()
                    .indefinitely();
            assertThat(sent.get()).isEqualTo(authority);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"http://[::1]:80/x", "http://[::1]/x", "https://[::1]:443", "https://[::1]"})
    void aPortThatIsTheSchemesIsLeftOut(String url) {
        assertThat(HttpExchange.authority(URI.create(url))).isEqualTo("[::1]");
    }

    private static String hostOf(ServerSocket server) {
        try (Socket caller = server.accept()) {
            BufferedReader in =
                    new BufferedReader(new InputStreamReader(caller.getInputStream(), StandardCharsets.US_ASCII));
            String host = null;
            for (String line = in.readLine(); !line.isEmpty(); line = in.readLine()) {
                host = line.toLowerCase(Locale.ROOT).startsWith("host: ") ? line.substring(6) : host;
            }
            caller.getOutputStream()
                    .write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            return host;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
