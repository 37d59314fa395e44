package dev.annals.cli;

import dev.annals.cli.RecordSplitter.Format;
import dev.annals.cli.RecordSplitter.Place;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
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
public final class ExportCommand extends ClientCommand {

    /** No part of an answer for so long: the connection is dead, or standard output is not read. */
    private static final Duration SILENCE = Duration.ofMinutes(2);

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
    int run() throws IOException, InterruptedException {
        if (cursor != null) {
            Page.requireCursor(cursor, "--cursor");
        }
        if (file == null) {
            if (resume) {
                throw new ClientFailure(ClientFailure.USAGE, "--resume needs a FILE: add -o FILE.");
            }
            OutputStream out = new BufferedOutputStream(Terminal.output(), 65_536);
            transfer(new RecordSplitter(format, out), out);
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
            RecordSplitter splitter = new RecordSplitter(format, late);
            InputStream before = Channels.newInputStream(channel);
            byte[] part = new byte[65_536];
            for (int length = before.read(part); length >= 0; length = before.read(part)) {
                splitter.feed(part, length);
            }
            if (channel.size() > 0 && !splitter.isExport()) {
                throw new ClientFailure(
                        ClientFailure.USAGE,
                        "The file " + to + " is no export as " + format
                                + " that can be gone on with: remove it, or name another.");
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
                throw failure.exitCode() == ClientFailure.REWOUND ? rewound(failure, splitter) : failure;
            }
        }
        Place last = splitter.last();
        Terminal.say((splitter.records() - before) + " records"
                + (last == null ? "." : ", up to sequence id " + last.sequenceId() + "."));
    }

    /**
     * The cursor behind a record that was written, with the check value which tells the service that no other record may
     * stand there: asked for with the record itself, since no format holds it.
     */
    private String cursorBehind(Place last) throws InterruptedException {
        Page page = Page.parse(service.ask(
                service.request(Connection.FEED + "?limit=1&cursor=" + (last.sequenceId() - 1))
                        .build(),
                Duration.ZERO));
        if (page.records().isEmpty()
                || !last.equals(RecordSplitter.place(
                        Format.ndjson, new String(page.records().get(0), StandardCharsets.UTF_8)))) {
            throw new ClientFailure(
                    ClientFailure.REWOUND,
                    "The record " + last.id() + " does not stand at sequence id " + last.sequenceId()
                            + " of the feed: the feed was rewound, or ANNALS_TOKEN is of another project.");
        }
        return page.next() == null ? page.pollMore() : page.next();
    }

    private ClientFailure rewound(ClientFailure failure, RecordSplitter splitter) {
        String advice;
        if (splitter.records() == 0) {
            advice = " Begin without --cursor, or with --cursor=<a sequence id that you trust>.";
        } else if (file == null) {
            advice = " What was written holds records that the feed does not have: put it aside, and export anew.";
        } else {
            advice = " Put the file " + file + " aside, since it holds records that the feed does not have, and export"
                    + " to another.";
        }
        return new ClientFailure(ClientFailure.REWOUND, failure.getMessage() + advice);
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
                if (length < 0) {
                    service.worked();
                    return null;
                }
                lastPart = System.nanoTime();
                long before = splitter.records();
                // A failure to write is none of the service's, and ends the command.
                splitter.feed(part, length);
                if (splitter.records() > before) {
                    // Less than a record brings a broken transfer no nearer to its end.
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
