package dev.annals.hostile;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Connections of one address that send requests and read no answer. The network takes little of the answers, as from far away: on
 * the loopback interface its packets are so large that it would keep more than 1 MB for each connection. Java cannot ask for smaller
 * packets.
 */
final class UnreadAnswers implements AutoCloseable {

    private static final String PROGRAM = """
            import resource, select, socket, sys
            port, file, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
            limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
            with open(file, 'rb') as source:
                requests = source.read()
            poll, left = select.poll(), {}
            for i in range(count):
                s = socket.socket()
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 500)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                try:
                    s.connect(('127.0.0.1', port))
                except OSError:
                    continue
                s.setblocking(False)
                left[s.fileno()] = s, memoryview(requests)
                poll.register(s, select.POLLOUT)
            kept = list(left.values())
            while left:
                ready = poll.poll(3000)
                if not ready:
                    break
                for number, event in ready:
                    s, rest = left[number]
                    try:
                        rest = rest[s.send(rest):]
                    except BlockingIOError:
                        pass
                    except OSError:
                        rest = b''
                    left[number] = s, rest
                    if not rest:
                        poll.unregister(s)
                        del left[number]
            print('sent', flush=True)
            sys.stdin.read()
            """;

    private final Process process;

    /** @param requests what each connection sends, if the service takes it */
    UnreadAnswers(URI service, Path directory, int connections, String requests)
            throws IOException, InterruptedException {
        need(JsonPrograms.PYTHON.isThere(), "python3");
        Path file = Files.writeString(directory.resolve("requests"), requests);
        process = new ProcessBuilder(
                        "python3",
                        "-c",
                        PROGRAM,
                        Integer.toString(service.getPort()),
                        file.toString(),
                        Integer.toString(connections))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    /** Waits until everything is sent, or the service takes no more of it. */
    void awaitSent() throws IOException {
        BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII));
        assertThat(out.readLine()).isEqualTo("sent");
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }
}
