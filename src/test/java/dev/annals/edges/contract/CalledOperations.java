package dev.annals.edges.contract;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The operations of the contract that the tests of this run called.
 *
 * <p>Kept as files, since the tests of each Quarkus profile have a class loader, and so static fields, of their own.
 */
public final class CalledOperations {
    private static final Path FOLDER = Path.of("target", "called-operations");
    private static final Set<String> ADDED = ConcurrentHashMap.newKeySet();

    private CalledOperations() {}

    static void add(String operationId) {
        if (!ADDED.add(operationId)) {
            return;
        }
        try {
            Files.createDirectories(FOLDER);
            Files.writeString(FOLDER.resolve(operationId), Instant.now().toString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The operationIds of the contract that no test of this process has called, in the contract's order. */
    public static List<String> missing() {
        return missingSince(ProcessHandle.current().info().startInstant().orElse(Instant.EPOCH));
    }

    /** Those that no test has called through a {@link ContractFilter} since then, in the contract's order. */
    static List<String> missingSince(Instant start) {
        return ContractFilter.operationIds().stream()
                .filter(operationId -> !calledSince(start, operationId))
                .toList();
    }

    private static boolean calledSince(Instant start, String operationId) {
        Path file = FOLDER.resolve(operationId);
        try {
            return Files.exists(file) && !Instant.parse(Files.readString(file)).isBefore(start);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
