package dev.annals.tools.benchmark;

import dev.annals.kernel.config.StartSettings;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.DatabaseUrlConfigSource;
import dev.annals.tools.command.InQuarkus;
import dev.annals.tools.embedded.EmbeddedDatabase;
import io.quarkus.runtime.annotations.RegisterForReflection;
import jakarta.enterprise.inject.spi.CDI;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code sequence-benchmark}: measures sequence generators on the machine that it runs on. */
@Command(
        name = SequenceBenchmark.NAME,
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Measures sequence generators: values per second, and how long a transaction with one takes. The"
                + " database is the one that ANNALS_DATABASE_URL names, or one for the benchmark alone.")
@RegisterForReflection
public final class SequenceBenchmark implements Callable<Integer> {

    /** The name of the command. */
    public static final String NAME = "sequence-benchmark";

    @Spec
    @Nullable
    CommandSpec command;

    @Mixin
    BenchmarkOptions options = new BenchmarkOptions();

    @Override
    public Integer call() throws IOException {
        List<String> arguments = List.of();
        if (command != null) {
            CommandLine line = command.commandLine();
            options.requireInLimits(line);
            arguments = line.getParseResult().originalArgs().stream()
                    .filter(argument -> !argument.equals(NAME))
                    .toList();
        }
        // This measures the sequence and the database, not how long transactions queue for a few client threads.
        System.setProperty("quarkus.vertx.event-loops-pool-size", "16");
        if (DatabaseUrl.configured(StartSettings.read()).isEmpty()) {
            EmbeddedDatabase database = EmbeddedDatabase.start(Files.createTempDirectory("annals-benchmark-"));
            Runtime.getRuntime().addShutdownHook(new Thread(database::close, "annals-embedded-database"));
            System.setProperty(
                    DatabaseUrlConfigSource.DATABASE_URL, database.url().withPassword());
        }
        List<String> asked = arguments;
        InQuarkus.run(() -> {
            CDI.current().select(BenchmarkReport.class).get().make(options, asked);
            return 0;
        });
        return 0;
    }
}
