package dev.annals.tools.cli;

import dev.annals.follower.Page;
import dev.annals.proof.RedactedValues;
import dev.annals.proof.VerifierKey;
import dev.annals.tools.cli.RecordSplitter.Format;
import dev.annals.tools.cli.RecordSplitter.Place;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Exports a feed to a file or to standard output. Only complete records are written. If the transfer breaks off, the command requests
 * the rest, so that every record is written once.
 */
@Command(
        name = "export",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Writes all records up to now as NDJSON, CSV, CloudEvents or OCSF.")
@RegisterForReflection
public final class ExportCommand extends ServiceCommand {

    /** If nothing arrives for this long, the connection is dead, or standard output is blocked. */
    private static final Duration SILENCE = Duration.ofMinutes(2);

    @Mixin
    Filters filters = new Filters();

    @Option(names = "--format", description = "One of ${COMPLETION-CANDIDATES}. Default: ndjson.")
    Format format = Format.ndjson;

    @Option(names = "--cursor", description = "Begin after this cursor or sequence id.")
    @Nullable
    String cursor;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            description = "The file to write. Default: standard output.")
    @Nullable
    Path file;

    @Option(
            names = "--resume",
            description =
                    "Continue after the last complete record in FILE, to finish an export that broke off or to bring one"
                            + " up to date.")
    boolean resume;

    @Option(
            names = "--proof",
            description =
                    "Write a file that proves itself, as NDJSON, with all records up to the newest checkpoint. annals check"
                            + " verifies it offline. Filters and --resume cannot be used with it.")
    boolean proof;

    @Mixin
    PinnedKeys pinned = new PinnedKeys();

    private volatile long lastPart;

    @Override
    int run() throws IOException, InterruptedException {
        if (cursor != null) {
            PageReader.requireCursor(cursor, "--cursor");
        }
        if (proof) {
            prove();
            return 0;
        }
        if (!pinned.isEmpty()) {
            throw new ClientFailure(
                    ClientFailure.USAGE, "--vkey and --witness need --proof: other exports prove nothing.");
        }
        if (file == null) {
            if (resume) {
                throw new ClientFailure(ClientFailure.USAGE, "--resume needs a FILE: add -o FILE.");
            }
            OutputStream out = new BufferedOutputStream(Terminal.export(format != Format.csv), 65_536);
            transfer(new RecordSplitter(format, out), out);
            return 0;
        }
        writeFile(file);
        return 0;
    }

    private void prove() throws IOException, InterruptedException {
        if (resume
                || format != Format.ndjson
                || filters.parameters().values().stream().anyMatch(Objects::nonNull)) {
            throw new ClientFailure(
                    ClientFailure.USAGE,
                    "--proof writes all records as NDJSON: omit --resume, --format and the filters. A file with some of the"
                            + " records could not prove that none is missing.");
        }
        List<VerifierKey> keys = pinned.vkeys.isEmpty() ? FollowedLog.claimedKeys(service) : pinned.keys();
        FollowedLog log = new FollowedLog(service, keys, pinned.policy());
        String from = cursor == null ? log.beginning() : cursor;
        long size;
        if (file == null) {
            size = new ProvedExport(log, new BufferedOutputStream(Terminal.export(true), 65_536)).write(from);
        } else {
            boolean made = false;
            boolean whole = false;
            try (FileChannel channel =
                    FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                made = true;
                OutputStream out = new BufferedOutputStream(Channels.newOutputStream(channel), 65_536);
                size = new ProvedExport(log, out).write(from);
                channel.force(true);
                whole = true;
            } catch (FileAlreadyExistsException e) {
                throw new ClientFailure(ClientFailure.USAGE, "The file " + file + " exists already: name another one.");
            } finally {
                // An incomplete file proves nothing and cannot be continued.
                if (made && !whole) {
                    Files.deleteIfExists(file);
                }
            }
        }
        Terminal.say(Terminal.count(size - FollowedLog.place(from), "record") + ", up to sequence id " + size + ". "
                + (cursor != null || FollowedLog.place(from) == 0
                        ? ""
                        : "Records up to " + FollowedLog.place(from) + " have expired: annals check needs --from="
                                + (FollowedLog.place(from) + 1) + ". ")
                + (pinned.vkeys.isEmpty()
                        ? "The service names the key " + keys.get(0) + ". Compare it with the key that you keep."
                        : "They are verified.")
                + " " + RedactedValues.count(log.redacted()));
    }

    private void writeFile(Path to) throws IOException, InterruptedException {
        if (!resume && Files.exists(to)) {
            throw new ClientFailure(
                    ClientFailure.USAGE,
                    "The file " + to + " exists already: continue it with --resume, or name another one.");
        }
        boolean made = !Files.exists(to);
        boolean exported = false;
        try (FileChannel channel =
                FileChannel.open(to, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            // The complete part of the file is read once; writing continues after it.
            LateOutput late = new LateOutput();
            RecordSplitter splitter = new RecordSplitter(format, late);
            InputStream before = Channels.newInputStream(channel);
            byte[] part = new byte[65_536];
            for (int length = before.read(part); length >= 0; length = before.read(part)) {
                splitter.feed(part, length);
            }
            if (channel.size() > 0 && !splitter.isExport()) {
                throw new ClientFailure(
                        ClientFailure.USAGE,
                        "The file " + to + " is not an export as " + format
                                + " that can be continued: remove it, or name another one.");
            }
            channel.truncate(splitter.bytes());
            channel.position(splitter.bytes());
            late.to = new BufferedOutputStream(Channels.newOutputStream(channel), 65_536);
            transfer(splitter, late);
            channel.force(true);
            exported = true;
        } finally {
            // A refused export leaves no file. --resume continues one that broke off.
            if (made && Files.size(to) == 0 && !exported) {
                Files.delete(to);
            }
        }
    }

    /** Discards bytes until it has a destination. */
    private static final class LateOutput extends OutputStream {
        private OutputStream to = OutputStream.nullOutputStream();

        @Override
        public void write(int b) throws IOException {
            to.write(b);
        }

        @Override
        public void write(byte[] b, int off, int len) throws IOException {
            to.write(b, off, len);
        }

        @Override
        public void flush() throws IOException {
            to.flush();
        }
    }

    private void transfer(RecordSplitter splitter, OutputStream out) throws IOException, InterruptedException {
        Map<String, @Nullable String> parameters = filters.parameters();
        parameters.put("format", format.name());
        long before = splitter.records();
        while (true) {
            try {
                Place last = splitter.last();
                parameters.put("cursor", last == null ? cursor : cursorBehind(last));
                splitter.beginAgain();
                String broken = pass(parameters, splitter);
                out.flush();
                if (broken == null) {
                    break;
                }
                service.failed(broken);
            } catch (ClientFailure failure) {
                throw switch (failure.exitCode()) {
                    case ClientFailure.REWOUND -> rewound(failure, splitter);
                    case ClientFailure.EXPIRED -> expired(failure, splitter);
                    default -> failure;
                };
            }
        }
        Place last = splitter.last();
        Terminal.say(Terminal.count(splitter.records() - before, "record")
                + (last == null ? "." : ", up to sequence id " + last.sequenceId() + "."));
    }

    /**
     * The cursor after a written record, with the check value by which the service notices another record in its place. No format
     * contains the value, so the command requests the record.
     */
    private String cursorBehind(Place last) throws InterruptedException {
        Page<byte[]> page = PageReader.parse(service.ask(
                service.request(Connection.FEED + "?limit=1&cursor=" + (last.sequenceId() - 1)), Duration.ZERO));
        if (page.records().isEmpty()
                || !last.equals(RecordSplitter.place(
                        Format.ndjson, new String(page.records().get(0), StandardCharsets.UTF_8)))) {
            throw new ClientFailure(
                    ClientFailure.REWOUND,
                    "The record " + last.id() + " is not at sequence id " + last.sequenceId()
                            + " of the feed: the feed was rewound, or ANNALS_TOKEN belongs to another project.");
        }
        return page.behind();
    }

    private ClientFailure rewound(ClientFailure failure, RecordSplitter splitter) {
        String advice;
        if (splitter.records() == 0) {
            advice = " Begin without --cursor, or with --cursor=<a sequence id that you trust>.";
        } else if (file == null) {
            advice = " The output has records that the feed does not have. Discard it and export again.";
        } else {
            advice = " The file " + file
                    + " has records that the feed does not have. Move it elsewhere, and export to another" + " one.";
        }
        return new ClientFailure(ClientFailure.REWOUND, failure.getMessage() + advice);
    }

    private ClientFailure expired(ClientFailure failure, RecordSplitter splitter) {
        return new ClientFailure(
                ClientFailure.EXPIRED,
                failure.getMessage()
                        + (splitter.records() == 0
                                ? " Begin without --cursor to export all records that are left."
                                : " The output is complete up to its last record. The next records have expired."
                                        + " Export the records that are left to another file, without --cursor."));
    }

    /** Copies an answer; null if it is complete, otherwise the cause. */
    private @Nullable String pass(Map<String, @Nullable String> parameters, RecordSplitter splitter)
            throws IOException, InterruptedException {
        InputStream body = service.open(service.request(Connection.FEED + "/export" + Connection.query(parameters)));
        ScheduledExecutorService watch = watch(body);
        byte[] part = new byte[65_536];
        try (body) {
            while (true) {
                int length;
                try {
                    length = body.read(part);
                } catch (IOException e) {
                    return e.getMessage() == null ? e.toString() : e.getMessage();
                }
                if (length < 0) {
                    service.worked();
                    return null;
                }
                lastPart = System.nanoTime();
                long before = splitter.records();
                // A failure to write ends the command.
                splitter.feed(part, length);
                if (splitter.records() > before) {
                    // Progress is at least one record.
                    service.worked();
                }
            }
        } finally {
            watch.shutdownNow();
        }
    }

    private ScheduledExecutorService watch(InputStream body) {
        lastPart = System.nanoTime();
        ScheduledExecutorService watch = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread thread = new Thread(task, "annals-watch");
            thread.setDaemon(true);
            return thread;
        });
        var unused = watch.scheduleWithFixedDelay(
                () -> {
                    if (System.nanoTime() - lastPart > SILENCE.toNanos()) {
                        try {
                            body.close();
                        } catch (IOException e) {
                            // it is broken either way
                        }
                    }
                },
                1,
                1,
                TimeUnit.SECONDS);
        return watch;
    }
}
