package dev.annals.edges.delivery;

import dev.annals.kernel.database.Database;
import io.quarkus.runtime.StartupEvent;
import io.vertx.core.Vertx;
import io.vertx.core.net.PemKeyCertOptions;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Inject;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.X509KeyManager;
import org.jspecify.annotations.Nullable;

/**
 * The identity of the service itself at sinks: its keys at AWS, and its client certificate. A stream has it only at the sinks that the
 * settings name. Otherwise a project could write where the service may and the project may not.
 */
@ApplicationScoped
class OwnIdentity {

    /** The end of an entry that also means all places below. */
    private static final String BELOW = "/*";

    private final DeliveryConfig config;
    private final Vertx vertx;
    private @Nullable AwsCredentials aws;

    @Inject
    OwnIdentity(DeliveryConfig config, SinkLoops loops) {
        this.config = config;
        this.vertx = loops.vertx();
    }

    /** Stops the service if half of the certificate is missing. */
    void start(@Observes StartupEvent event) {
        if (config.clientCertificateFile().isPresent() != config.clientKeyFile().isPresent()) {
            throw new IllegalArgumentException(
                    "Set both ANNALS_STREAMS_CLIENT_CERTIFICATE_FILE and ANNALS_STREAMS_CLIENT_KEY_FILE, or neither.");
        }
    }

    /**
     * Requires that a stream may have the identity.
     *
     * @param database with the row of the stream, which its owner may have written
     * @param ofAllProjects only admins have such streams
     * @param ofLink whether a link defined it
     * @throws Targets.RefusedTargetException with a message for people
     */
    void require(Database database, String url, boolean ofAllProjects, boolean ofLink) {
        if (!database.trusted()) {
            throw new Targets.RefusedTargetException(Targets.untrusted(database));
        }
        Optional<List<String>> named = ofAllProjects ? config.ownIdentity() : config.ownIdentityOfProjects();
        if (ofLink || !names(named.orElse(List.of()), url)) {
            throw new Targets.RefusedTargetException(
                    "The service's own identity is only for sinks that its operator names in "
                            + (ofAllProjects
                                    ? "ANNALS_STREAMS_OWN_IDENTITY"
                                    : "ANNALS_STREAMS_OWN_IDENTITY_OF_PROJECTS")
                            + ", and this is none of them. Ask the operator, or set the sink with a secret.");
        }
    }

    static boolean names(List<String> entries, String url) {
        String place = url.replaceFirst("\\?.*", "").replaceFirst("/$", "");
        return entries.stream()
                .anyMatch(entry -> entry.endsWith(BELOW)
                        ? (place + "/").startsWith(entry.substring(0, entry.length() - 1))
                        : place.equals(entry));
    }

    synchronized S3Credentials atAws() {
        AwsCredentials made = aws;
        if (made == null) {
            made = new AwsCredentials(vertx);
            aws = made;
        }
        return made;
    }

    /**
     * The client certificate and its key. The files are read for each connection, so that they can be replaced. Blocks.
     *
     * @throws Targets.RefusedTargetException if there is none, or it cannot be used
     */
    X509KeyManager certificate() {
        Path certificate = config.clientCertificateFile().orElse(null);
        Path key = config.clientKeyFile().orElse(null);
        if (certificate == null || key == null) {
            throw new Targets.RefusedTargetException("The service has no client certificate: set"
                    + " ANNALS_STREAMS_CLIENT_CERTIFICATE_FILE and ANNALS_STREAMS_CLIENT_KEY_FILE.");
        }
        try {
            return (X509KeyManager) new PemKeyCertOptions()
                    .addCertPath(certificate.toAbsolutePath().toString())
                    .addKeyPath(key.toAbsolutePath().toString())
                    .getKeyManagerFactory(vertx)
                    .getKeyManagers()[0];
        } catch (Exception e) {
            throw new Targets.RefusedTargetException("The client certificate of the service cannot be used ("
                    + e.getClass().getSimpleName()
                    + "). Check ANNALS_STREAMS_CLIENT_CERTIFICATE_FILE and ANNALS_STREAMS_CLIENT_KEY_FILE: PEM files, the key"
                    + " unencrypted in PKCS #8.");
        }
    }
}
