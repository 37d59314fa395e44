package dev.annals.bench.ordering;

import dev.annals.bench.BenchDatabase;
import dev.annals.kernel.database.DatabaseUrl;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** PostgreSQL's {@code pgbench} on one database. */
final class Pgbench {

    private static final Path DEBIAN = Path.of("/usr/lib/postgresql");
    private static final Pattern RATE = Pattern.compile("^tps = ([0-9.]+)", Pattern.MULTILINE);
    private static final long END_LIMIT_SECONDS = 300;

    private final Path program;
    private final BenchDatabase database;

    Pgbench(Path program, BenchDatabase database) {
        this.program = program;
        this.database = database;
    }

    /** The program, on the PATH or where Debian installs it. */
    static Optional<Path> find() throws IOException {
        List<Path> folders = new ArrayList<>();
        for (String folder : System.getenv().getOrDefault("PATH", "").split(File.pathSeparator)) {
            folders.add(Path.of(folder));
        }
        if (Files.isDirectory(DEBIAN)) {
            try (DirectoryStream<Path> versions = Files.newDirectoryStream(DEBIAN)) {
                versions.forEach(version -> folders.add(version.resolve("bin")));
            }
        }
        return folders.stream()
                .map(folder -> folder.resolve("pgbench"))
                .filter(Files::isExecutable)
                .findFirst();
    }

    /**
     * Runs pgbench to its end.
     *
     * @param sessionOptions PostgreSQL's options for each session, such as {@code -c role=…}
     * @return what it prints
     * @throws IllegalStateException if it fails or takes five minutes
     */
    String run(String sessionOptions, List<String> arguments) throws IOException, InterruptedException {
        DatabaseUrl url = database.url();
        List<String> command = new ArrayList<>(List.of(program.toString()));
        command.addAll(arguments);
        Path output = Files.createTempFile("pgbench", ".log");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().put("PGHOST", url.host());
        builder.environment().put("PGPORT", "" + url.port());
        builder.environment().put("PGDATABASE", url.database());
        builder.environment().put("PGUSER", url.user());
        builder.environment().put("PGPASSWORD", url.password());
        builder.environment().put("PGSSLMODE", url.sslMode());
        builder.environment().put("PGOPTIONS", sessionOptions);
        Process process = builder.start();
        try {
            boolean ended = process.waitFor(END_LIMIT_SECONDS, TimeUnit.SECONDS);
            String text = Files.readString(output, StandardCharsets.UTF_8);
            if (!ended || process.exitValue() != 0) {
                throw new IllegalStateException(String.join(" ", command) + " failed:\n" + text);
            }
            return text;
        } finally {
            process.destroyForcibly();
            Files.delete(output);
        }
    }

    /** Transactions per second, from what a run prints. */
    static double rate(String output) {
        Matcher rate = RATE.matcher(output);
        if (!rate.find()) {
            throw new IllegalStateException("pgbench printed no rate:\n" + output);
        }
        return Double.parseDouble(rate.group(1));
    }
}
