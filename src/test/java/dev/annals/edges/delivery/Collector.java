package dev.annals.edges.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Await;
import dev.annals.Ports;
import dev.annals.derived.log.GoPrograms;
import java.nio.file.Files;
import java.nio.file.Path;

/** An OpenTelemetry Collector in a process of its own, before a backend: it says what the backend says. */
public final class Collector implements AutoCloseable {

    private final int port = Ports.free();
    private final Path program;
    private final Path configuration;
    private final Path log;
    private Process process;

    /**
     * Starts it.
     *
     * @param folder for its files
     * @param backend the port on this machine to which it exports as JSON
     */
    public Collector(Path folder, int backend) throws Exception {
        program = GoPrograms.built(Path.of(".ci", "collector"));
        log = folder.resolve("collector.log");
        configuration = Files.writeString(folder.resolve("collector.yaml"), """
                receivers:
                  otlp:
                    protocols:
                      http:
                        endpoint: 127.0.0.1:%d
                exporters:
                  otlphttp:
                    endpoint: http://127.0.0.1:%d
                    encoding: json
                    compression: none
                    sending_queue: {enabled: false}
                    retry_on_failure: {enabled: false}
                service:
                  pipelines:
                    logs: {receivers: [otlp], exporters: [otlphttp]}
                  telemetry: {metrics: {level: none}}
                """.formatted(port, backend));
        start();
    }

    void start() throws Exception {
        process = new ProcessBuilder(program.toString(), "--config", configuration.toString())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                .start();
        Await.until("the Collector listens", () -> {
            assertThat(process.isAlive()).as(Files.readString(log)).isTrue();
            return Ports.isListening(port);
        });
    }

    /** With SIGKILL. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** The sink of a stream. */
    public String url() {
        return "http://127.0.0.1:" + port + "/v1/logs";
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }
}
