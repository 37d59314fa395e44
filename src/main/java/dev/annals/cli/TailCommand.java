package dev.annals.cli;

import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Prints records, each once and in order. A page is printed as a whole, then its cursor is remembered: restarts of the
 * service lose nothing and repeat nothing; after a crash of this program itself, {@code --cursor-file} goes on with the
 * page that was being printed.
 */
@Command(
        name = "tail",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Prints the newest records, and with --follow what is recorded from now on.")
@RegisterForReflection
public final class TailCommand extends ClientCommand {

    private static final int WAIT_SECONDS = 30;
    private static final long POLL_PAUSE_MILLIS = 1_000;
    private static final int MAX_NEWEST = 1_000;

    @Mixin
    Connection service = new Connection();

    @Mixin
    Filters filters = new Filters();

    @Option(
            names = {"-f", "--follow"},
            description = "Go on, and print what is recorded from now on.")
    boolean follow;

    @Option(names = "-n", paramLabel = "COUNT", description = "How many of the newest records to print. Default: 10.")
    int newest = 10;

    @Option(names = "--from-start", description = "Begin with the first record.")
    boolean fromStart;

    @Option(names = "--cursor", description = "Begin behind this cursor, or this sequence id.")
    @Nullable
    String cursor;

    @Option(
            names = "--cursor-file",
            paramLabel = "FILE",
            description = "Begin behind the cursor in this file, where it exists, and keep the cursor there.")
    @Nullable
    Path cursorFile;

    @Option(names = "--json", description = "Print NDJSON, every record as the service has it.")
    boolean json;

    private final OutputStream output = Terminal.output();
    private boolean waits = true;

    @Override
    int run() throws IOException, InterruptedException {
        if (newest < 0 || newest > MAX_NEWEST) {
            throw new ClientFailure(ClientFailure.USAGE, "-n goes from 0 to " + MAX_NEWEST + ".");
        }
        if (follow) {
            service.tryForEver();
        }
        try {
            String next = begin();
            while (true) {
                Page page = read(next);
                print(page.records());
                next = page.next() == null ? page.pollMore() : page.next();
                remember(next);
                if (page.next() == null && !follow) {
                    return 0;
                }
                if (page.records().isEmpty() && page.next() == null && !waits) {
                    Thread.sleep(POLL_PAUSE_MILLIS);
                }
            }
        } catch (ClientFailure failure) {
            throw failure.exitCode() == ClientFailure.REWOUND ? rewound(failure) : failure;
        }
    }

    private ClientFailure rewound(ClientFailure failure) {
        return new ClientFailure(
                ClientFailure.REWOUND,
                failure.getMessage() + " Begin with --from-start, or with --cursor=<a sequence id that you trust>"
                        + (cursorFile == null ? "." : ", after removing " + cursorFile + "."));
    }

    /** The cursor to go on from; prints the newest records where nothing says where to begin. */
    private String begin() throws IOException, InterruptedException {
        if (cursorFile != null && Files.exists(cursorFile)) {
            return Page.requireCursor(Files.readString(cursorFile).strip(), "The file " + cursorFile);
        }
        if (cursor != null) {
            return Page.requireCursor(cursor, "--cursor");
        }
        if (fromStart) {
            return "0";
        }
        return printNewest();
    }

    private String printNewest() throws IOException, InterruptedException {
        List<byte[]> found = new ArrayList<>();
        Map<String, @Nullable String> parameters = filters.parameters();
        parameters.put("order", "desc");
        parameters.put("limit", Integer.toString(Math.max(1, newest)));
        Page page = get(parameters, Duration.ZERO);
        String pollMore = page.pollMore();
        while (found.size() < newest) {
            // Newest first: printed the other way round.
            for (byte[] record : page.records()) {
                found.add(0, record);
            }
            if (page.next() == null) {
                break;
            }
            parameters.put("cursor", page.next());
            page = get(parameters, Duration.ZERO);
        }
        print(found.subList(Math.max(0, found.size() - newest), found.size()));
        remember(pollMore);
        return pollMore;
    }

    private Page read(String from) throws InterruptedException {
        Map<String, @Nullable String> parameters = filters.parameters();
        parameters.put("cursor", from);
        parameters.put("limit", "1000");
        if (follow && waits) {
            parameters.put("wait", Integer.toString(WAIT_SECONDS));
            try {
                return get(parameters, Duration.ofSeconds(WAIT_SECONDS));
            } catch (ClientFailure refused) {
                if (!refused.parameter().equals("wait")) {
                    throw refused;
                }
                // A service without long polls.
                waits = false;
                parameters.remove("wait");
            }
        }
        return get(parameters, Duration.ZERO);
    }

    private Page get(Map<String, @Nullable String> parameters, Duration wait) throws InterruptedException {
        return Page.parse(service.send(
                service.request(Connection.FEED + Connection.query(parameters))
                        .timeout(Duration.ofSeconds(60).plus(wait))
                        .build(),
                wait));
    }

    private void print(List<byte[]> records) throws IOException {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        for (byte[] record : records) {
            if (json) {
                text.write(record);
                text.write('\n');
            } else {
                text.write(RecordLine.of(record).getBytes(StandardCharsets.UTF_8));
            }
        }
        text.writeTo(output);
        output.flush();
    }

    private void remember(String place) throws IOException {
        if (cursorFile == null) {
            return;
        }
        Path written = cursorFile.resolveSibling(cursorFile.getFileName() + ".new");
        try (FileChannel file = FileChannel.open(
                written, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
            file.write(ByteBuffer.wrap((place + "\n").getBytes(StandardCharsets.US_ASCII)));
            file.force(true);
        }
        Files.move(written, cursorFile, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }
}
