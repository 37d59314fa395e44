package dev.annals.tools.cli;

import dev.annals.follower.Follower;
import dev.annals.follower.Page;
import dev.annals.follower.PlaceFile;
import dev.annals.proof.RedactedValues;
import dev.annals.proof.VerifierKey;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Prints records, each once and in order. The cursor is saved after its page was printed. A restart of the service therefore loses and
 * repeats nothing. After a crash of this program, {@code --cursor-file} repeats the page that was being printed.
 */
@Command(
        name = "tail",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Prints the newest records, and with --follow also new ones as they are committed.")
@RegisterForReflection
public final class TailCommand extends ServiceCommand {

    private static final int WAIT_SECONDS = 30;
    private static final int MAX_NEWEST = 1_000;
    private static final int PROVED_RECORDS = 500;
    private static final Duration BEHIND = Duration.ofMillis(100);

    @Mixin
    Filters filters = new Filters();

    @Option(
            names = {"-f", "--follow"},
            description = "Keep running, and print new records as they are committed.")
    boolean follow;

    @Option(names = "-n", paramLabel = "COUNT", description = "The number of newest records to print. Default: 10.")
    int newest = 10;

    @Option(names = "--from-start", description = "Begin with the oldest record that is left.")
    boolean fromStart;

    @Option(names = "--cursor", description = "Begin after this cursor or sequence id.")
    @Nullable
    String cursor;

    @Option(
            names = "--cursor-file",
            paramLabel = "FILE",
            description = "Begin after the cursor in this file, if it exists, and keep the cursor there.")
    @Nullable
    Path cursorFile;

    @Option(names = "--json", description = "Print NDJSON: each record as the service stores it.")
    boolean json;

    @Option(
            names = "--verify",
            description =
                    "Print only records that the log proves, and stop if the log does not continue. Needs --vkey and"
                            + " --cursor-file; the newest checkpoint is kept beside that file, in a file of the same name with"
                            + " .checkpoint. Filters cannot be used with it.")
    boolean verify;

    @Mixin
    PinnedKeys pinned = new PinnedKeys();

    private @Nullable FollowedLog log;
    /** The size of the log in the newest checkpoint; -1 before the first one. */
    private long logSize = -1;

    private final OutputStream output = Terminal.output();

    @Override
    int run() throws Exception {
        if (newest < 0 || newest > MAX_NEWEST) {
            throw new ClientFailure(ClientFailure.USAGE, "-n has to be from 0 to " + MAX_NEWEST + ".");
        }
        if (follow) {
            service.tryForEver();
        }
        if (verify) {
            log = begin(pinned.keys());
        } else if (!pinned.isEmpty()) {
            throw new ClientFailure(ClientFailure.USAGE, "--vkey and --witness need --verify.");
        }
        try {
            Printer printed = new Printer(begin());
            Follower<byte[]> follower = new Follower<>(this::read, printed);
            boolean more = follower.step();
            // Even if nothing was printed: the next start begins at the same place.
            remember(printed.cursor());
            if (follow) {
                // Long polls need no further pause.
                follower.run(Duration.ZERO);
            } else {
                while (more) {
                    more = follower.step();
                }
                if (log != null) {
                    Terminal.say(RedactedValues.count(log.redacted()));
                }
            }
            return 0;
        } catch (ClientFailure failure) {
            throw switch (failure.exitCode()) {
                case ClientFailure.REWOUND ->
                    instead(failure, "Begin with --from-start, or with --cursor=<a sequence id that you trust>");
                case ClientFailure.EXPIRED ->
                    instead(failure, "Begin with --from-start, which prints all records that are left");
                default -> failure;
            };
        }
    }

    /** The printed records, up to a cursor. */
    private final class Printer implements Follower.Store<byte[]> {

        private @Nullable String place;

        Printer(@Nullable String place) {
            this.place = place;
        }

        @Override
        public @Nullable String cursor() {
            return place;
        }

        @Override
        public void save(List<byte[]> records, String cursor) throws IOException {
            print(records);
            remember(cursor);
            place = cursor;
        }
    }

    /** The failure with advice. */
    private ClientFailure instead(ClientFailure failure, String advice) {
        return new ClientFailure(
                failure.exitCode(),
                failure.getMessage() + " " + advice
                        + (cursorFile == null ? "." : ", after removing " + cursorFile + "."));
    }

    /**
     * The cursor to begin at; null for the oldest record that is left. Prints the newest records if no option names a place.
     */
    private @Nullable String begin() throws IOException, InterruptedException {
        if (cursorFile != null && Files.exists(cursorFile)) {
            return PageReader.requireCursor(Files.readString(cursorFile).strip(), "The file " + cursorFile);
        }
        if (cursor != null) {
            return PageReader.requireCursor(cursor, "--cursor");
        }
        if (fromStart) {
            return log == null ? null : log.beginning();
        }
        if (log != null) {
            advance(log);
            return Long.toString(Math.max(FollowedLog.place(log.beginning()), logSize - newest));
        }
        return printNewest();
    }

    private String printNewest() throws IOException, InterruptedException {
        List<byte[]> found = new ArrayList<>();
        Map<String, @Nullable String> parameters = filters.parameters();
        parameters.put("order", "desc");
        parameters.put("limit", Integer.toString(Math.max(1, newest)));
        Page<byte[]> page = get(parameters, Duration.ZERO);
        String pollMore = page.pollMore();
        while (found.size() < newest) {
            // The page has the newest first.
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

    private FollowedLog begin(List<VerifierKey> keys) throws IOException {
        if (cursorFile == null || filters.parameters().values().stream().anyMatch(Objects::nonNull)) {
            throw new ClientFailure(
                    ClientFailure.USAGE,
                    "--verify keeps the newest checkpoint beside the file of the cursor, and needs all records: add"
                            + " --cursor-file, and omit the filters.");
        }
        FollowedLog begun = new FollowedLog(service, keys, pinned.policy());
        Path file = checkpointFile(cursorFile);
        if (Files.exists(file)) {
            try {
                begun.remember(Files.readString(file));
            } catch (IllegalArgumentException e) {
                throw new ClientFailure(
                        ClientFailure.USAGE,
                        "The file " + file + " does not contain a checkpoint of this log: " + e.getMessage() + ".");
            }
        }
        return begun;
    }

    private static Path checkpointFile(Path cursorFile) {
        return cursorFile.resolveSibling(cursorFile.getFileName() + ".checkpoint");
    }

    /** Fetches the newest checkpoint, and saves it before its records are printed. */
    private void advance(FollowedLog followed) throws InterruptedException, IOException {
        FollowedLog.Seen newest = followed.advance();
        if (cursorFile != null) {
            PlaceFile.replace(checkpointFile(cursorFile), newest.note().stripTrailing());
        }
        logSize = newest.checkpoint().size();
    }

    private Page<byte[]> readProved(FollowedLog followed, String from) throws InterruptedException, IOException {
        long place = FollowedLog.place(from);
        if (place >= logSize) {
            if (follow && logSize >= 0) {
                awaitMore(from);
            }
            advance(followed);
        }
        if (place >= logSize) {
            followed.requireThatItGoesOn();
            // The log follows the feed within moments.
            Thread.sleep(follow ? BEHIND.toMillis() : 0);
            return new Page<>(List.of(), null, "?cursor=" + from);
        }
        long before = followed.redacted();
        Page<byte[]> page = followed.page(from, PROVED_RECORDS).page();
        if (follow && followed.redacted() > before) {
            Terminal.say(RedactedValues.count(followed.redacted() - before));
        }
        return page;
    }

    /** Returns when records after a cursor exist. They are read again with a proof. */
    private void awaitMore(String from) throws InterruptedException {
        Map<String, @Nullable String> parameters = new LinkedHashMap<>();
        parameters.put("cursor", from);
        parameters.put("limit", "1");
        parameters.put("wait", Integer.toString(WAIT_SECONDS));
        get(parameters, Duration.ofSeconds(WAIT_SECONDS));
    }

    private Page<byte[]> read(@Nullable String from) throws InterruptedException, IOException {
        if (log != null) {
            return readProved(log, from == null ? "0" : from);
        }
        Map<String, @Nullable String> parameters = filters.parameters();
        parameters.put("cursor", from);
        parameters.put("limit", "1000");
        if (!follow) {
            return get(parameters, Duration.ZERO);
        }
        parameters.put("wait", Integer.toString(WAIT_SECONDS));
        return get(parameters, Duration.ofSeconds(WAIT_SECONDS));
    }

    private Page<byte[]> get(Map<String, @Nullable String> parameters, Duration wait) throws InterruptedException {
        return PageReader.parse(service.send(service.request(Connection.FEED + Connection.query(parameters)), wait));
    }

    private void print(List<byte[]> records) throws IOException {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        for (byte[] record : records) {
            if (json) {
                text.write(Terminal.withoutControls(record));
                text.write('\n');
            } else {
                text.write(RecordTable.line(record).getBytes(StandardCharsets.UTF_8));
            }
        }
        text.writeTo(output);
        output.flush();
    }

    private void remember(@Nullable String place) throws IOException {
        if (cursorFile != null && place != null) {
            PlaceFile.replace(cursorFile, place);
        }
    }
}
