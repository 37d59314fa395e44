package dev.annals.derived.log;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.derived.proof.MasterKey;
import dev.annals.derived.proof.SigningKey;
import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.config.StartSettings;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.VerifierKey;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** The keys and names of all logs. The keys follow from one secret that is in no database. */
@ApplicationScoped
public class LogKeys {

    private static final Logger LOG = Logger.getLogger(LogKeys.class);
    /** In the data directory of the embedded database. */
    private static final String OWN_KEY = "log-key";

    private static final int MAX_DERIVED = 1_000;
    private static final int MAX_FILE_BYTES = 1_024;

    private final String host;
    /** The newest first. */
    private final List<MasterKey> masters;

    private final @Nullable Path seen;
    private final Cache<String, List<SigningKey>> derived =
            Caffeine.newBuilder().maximumSize(MAX_DERIVED).build();

    @Inject
    LogKeys(LogConfig config, AnnalsConfig service) {
        this.host = config.host()
                .orElseGet(() -> service.publicUrl().map(LogKeys::withoutScheme).orElse("localhost"));
        Path file = config.keyFile()
                .orElseGet(() -> StartSettings.usesOwnDatabase() && config.key().isEmpty()
                        ? service.dataDir().resolve(OWN_KEY)
                        : null);
        if (file != null && config.keyFile().isEmpty()) {
            makeOwn(file);
        }
        this.seen = config.seenDir().orElse(file == null ? null : file.resolveSibling(file.getFileName() + ".seen"));
        this.masters = masters(config, file);
    }

    private static List<MasterKey> masters(LogConfig config, @Nullable Path file) {
        List<MasterKey> masters = new ArrayList<>();
        if (file != null) {
            masters.add(read(file, "ANNALS_LOG_KEY_FILE"));
        } else {
            config.key().map(MasterKey::parse).ifPresent(masters::add);
        }
        config.previousKeyFile()
                .map(previous -> read(previous, "ANNALS_LOG_PREVIOUS_KEY_FILE"))
                .ifPresent(masters::add);
        return masters;
    }

    private static String withoutScheme(String url) {
        URI uri = URI.create(url);
        return (uri.getRawAuthority() + uri.getRawPath()).replaceAll("/+$", "");
    }

    private static void makeOwn(Path file) {
        try {
            KeyFile.write(file, MasterKey.draw());
            LOG.infof(
                    "The logs of all projects are signed with a new key, %s. Keep a copy apart from copies of the database:"
                            + " with both, records and proofs can be forged",
                    file);
        } catch (FileAlreadyExistsException e) {
            // An earlier start has written it.
        } catch (IOException e) {
            throw new UncheckedIOException("The log key " + file + " cannot be written. Set ANNALS_LOG_KEY_FILE.", e);
        }
    }

    private static MasterKey read(Path file, String variable) {
        try {
            if (Files.size(file) > MAX_FILE_BYTES) {
                throw new IllegalArgumentException("it is too long");
            }
            return MasterKey.parse(Files.readString(file));
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "The file " + file + " (" + variable + ") cannot be read ("
                            + e.getClass().getSimpleName() + "). Name one that user " + System.getProperty("user.name")
                            + " may read.",
                    e);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "The file " + file + " (" + variable + ") does not hold a log key (" + e.getMessage()
                            + "). annals log keygen makes one.",
                    e);
        }
    }

    boolean any() {
        return !masters.isEmpty();
    }

    /** For {@link SeenNotes}; none if the key is in no file and no directory is named. */
    Optional<Path> seenDirectory() {
        return Optional.ofNullable(seen);
    }

    String origin(UUID projectId, int epoch) {
        return host + "/v1/projects/" + projectId + "/log/" + epoch;
    }

    /** The public keys of a project's first log, the newest first. */
    public List<String> verifiers(UUID projectId) {
        return of(projectId, 1).stream().map(key -> key.verifier().toString()).toList();
    }

    /** The newest first; none if this service has no secret. */
    List<SigningKey> of(UUID projectId, int epoch) {
        return derived.get(
                origin(projectId, epoch),
                origin -> masters.stream().map(master -> master.of(origin)).toList());
    }

    /** The newest first. */
    List<VerifierKey> verifiers(UUID projectId, int epoch) {
        return of(projectId, epoch).stream().map(SigningKey::verifier).toList();
    }

    /** Null if these keys have not signed the note. */
    @Nullable
    SignedLog open(UUID projectId, int epoch, String note) {
        try {
            return new SignedLog(projectId, epoch, note, Checkpoint.open(note, verifiers(projectId, epoch)));
        } catch (IllegalArgumentException e) {
            return null;
        }
    }
}
