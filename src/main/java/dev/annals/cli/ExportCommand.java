package dev.annals.cli;

import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Exports a feed to a file or to standard output. Only whole records are written; where the transfer breaks off, the rest
 * is asked for, so that every record is written once.
 */
@Command(
        name = "export",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Writes all records up to now as NDJSON, CSV, CloudEvents or OCSF.")
@RegisterForReflection
final class ExportCommand implements Callable<Integer> {

    /** No part of an answer for so long: the connection is dead, or standard output is not read. */
    private static final Duration SILENCE = Duration.ofMinutes(2);

    private static final Pattern CURSOR_TEXT = Pattern.compile("[0-9]{1,18}(-[0-9a-f]{8})?");

    enum Format {
        ndjson,
        csv,
        cloudevents,
        ocsf
    }

    @Mixin
    Connection service = new Connection();

    @Mixin
    Filters filters = new Filters();

    @Option(names = "--format", description = "One of ${COMPLETION-CANDIDATES}. Default: ndjson.")
    Format format = Format.ndjson;

    @Option(names = "--cursor", description = "Begin behind this cursor, or this sequence id.")
    @Nullable
    String cursor;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            description = "Where to write. Default: standard output.")
    @Nullable
    Path file;

    @Option(
            names = "--resume",
            description =
                    "Go on behind the last whole record in FILE: of an export that broke off, or that is to be brought"
                            + " up to date.")
    boolean resume;

    private volatile long lastPart;

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (cursor != null && !CURSOR_TEXT.matcher(cursor).matches()) {
            throw new ClientFailure(
                    ClientFailure.USAGE, "--cursor is no cursor: that is a sequence id, or looks like 10225-9f3a61c2.");
        }
        if (file == null) {
            if (resume) {
                throw new ClientFailure(ClientFailure.USAGE, "--resume needs a FILE: add -o FILE.");
            }
            OutputStream out = new BufferedOutputStream(Terminal.output(), 65_536);
            transfer(new RecordSplitter(format == Format.csv, out), out);
            return 0;
        }
        writeFile(file);
        return 0;
    }

    private void writeFile(Path to) throws IOException, InterruptedException {
        if (!resume && Files.exists(to)) {
            throw new ClientFailure(
                    ClientFailure.USAGE,
                    "The file " + to + " is there already: go on with it by --resume, or name another.");
        }
        try (FileChannel channel =
                FileChannel.open(to, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            // Whatever of the file is whole, read once; writing goes on behind it.
            LateOutput late = new LateOutput();
            RecordSplitter splitter = new RecordSplitter(format == Format.csv, late);
            InputStream before = Channels.newInputStream(channel);
            byte[] part = new byte[65_536];
            for (int length = before.read(part); length >= 0; length = before.read(part)) {
                splitter.feed(part, length);
            }
            if (splitter.records() > 0) {
                cursor = Long.toString(splitter.lastSequenceId());
            }
            channel.truncate(splitter.bytes());
            channel.position(splitter.bytes());
            late.to = new BufferedOutputStream(Channels.newOutputStream(channel), 65_536);
            transfer(splitter, late);
            channel.force(true);
        }
    }

    /** Forgets what is written until it is told where to. */
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
            parameters.put("cursor", splitter.records() > 0 ? Long.toString(splitter.lastSequenceId()) : cursor);
            splitter.beginAgain();
            String broken = pass(parameters, splitter);
            out.flush();
            if (broken == null) {
                break;
            }
            service.failed(broken);
        }
        Terminal.say((splitter.records() - before) + " records"
                + (splitter.records() == 0 ? "." : ", up to sequence id " + splitter.lastSequenceId() + "."));
    }

    /** Passes an answer on; null where it came whole, otherwise what broke it. */
    private @Nullable String pass(Map<String, @Nullable String> parameters, RecordSplitter splitter)
            throws IOException, InterruptedException {
        InputStream body = service.open(service.request(Connection.FEED + "/export" + Connection.query(parameters))
                .build());
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
                service.worked();
                if (length < 0) {
                    return null;
                }
                lastPart = System.nanoTime();
                // A failure to write is none of the service's, and ends the command.
                splitter.feed(part, length);
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
