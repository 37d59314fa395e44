package dev.annals.edges.delivery;

import dev.annals.derived.log.KeyFile;
import dev.annals.derived.proof.Hkdf;
import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.config.StartSettings;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.quarkus.runtime.StartupEvent;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Inject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.UUID;
import java.util.regex.Pattern;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Encrypts the secrets of sinks with AES-256-GCM. HKDF-SHA256 derives the key from a setting that no database stores (salt {@code annals
 * streams key/1}, info {@code secrets of sinks}). The stored form is a random nonce of 12 bytes, then ciphertext and tag. The ids of
 * project and stream are associated data, so the secret of one stream does not decrypt for another.
 */
@ApplicationScoped
public class SinkSecrets {

    private static final Logger LOG = Logger.getLogger(SinkSecrets.class);
    /** In the data directory of the service's own database. */
    private static final String OWN_KEY = "streams-key";

    private static final Pattern TEXT = Pattern.compile("[0-9a-f]{64}");
    private static final int MAX_FILE_BYTES = 1_024;
    private static final int KEY_BYTES = 32;
    private static final int NONCE_BYTES = 12;
    private static final int TAG_BITS = 128;
    private static final String CIPHER = "AES/GCM/NoPadding";
    private static final byte[] SALT = "annals streams key/1".getBytes(StandardCharsets.UTF_8);
    private static final byte[] INFO = "secrets of sinks".getBytes(StandardCharsets.UTF_8);

    private final SecureRandom random = new SecureRandom();
    private final @Nullable SecretKeySpec key;

    @Inject
    SinkSecrets(DeliveryConfig config, AnnalsConfig service) {
        Path file = config.keyFile()
                .orElseGet(() -> StartSettings.usesOwnDatabase() && config.key().isEmpty()
                        ? service.dataDir().resolve(OWN_KEY)
                        : null);
        if (file != null && config.keyFile().isEmpty()) {
            makeOwn(file);
        }
        this.key = file != null
                ? derived(read(file))
                : config.key().map(SinkSecrets::derived).orElse(null);
    }

    /** Creates this bean at the start: a key that cannot be used stops the service then, not the first stream that needs it. */
    void start(@Observes StartupEvent event) {}

    /**
     * A copy of a key.
     *
     * @throws IllegalArgumentException if the file has none
     */
    public static SinkSecrets ofFile(Path copy) {
        return new SinkSecrets(read(copy));
    }

    /** @param hex the key; null for none */
    SinkSecrets(@Nullable String hex) {
        this.key = hex == null ? null : derived(hex);
    }

    private static SecretKeySpec derived(String hex) {
        return new SecretKeySpec(Hkdf.derive(HexFormat.of().parseHex(hex), SALT, INFO, KEY_BYTES), "AES");
    }

    private void makeOwn(Path file) {
        byte[] secret = new byte[KEY_BYTES];
        random.nextBytes(secret);
        try {
            KeyFile.write(file, HexFormat.of().formatHex(secret));
            LOG.infof("The secrets of streams are encrypted with a new key, %s. Keep a copy", file);
        } catch (FileAlreadyExistsException e) {
            // from an earlier start
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "The key of streams " + file + " cannot be written. Set ANNALS_STREAMS_KEY_FILE.", e);
        }
    }

    private static String read(Path file) {
        try {
            String text = Files.size(file) > MAX_FILE_BYTES
                    ? ""
                    : Files.readString(file).strip();
            if (TEXT.matcher(text).matches()) {
                return text;
            }
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "The file " + file + " (ANNALS_STREAMS_KEY_FILE) cannot be read ("
                            + e.getClass().getSimpleName() + "). Name one that user " + System.getProperty("user.name")
                            + " may read.",
                    e);
        }
        throw new IllegalArgumentException("The file " + file
                + " (ANNALS_STREAMS_KEY_FILE) does not hold a key: one line of 64 hexadecimal digits, as"
                + " openssl rand -hex 32 makes it.");
    }

    /**
     * Requires a key, without which no secret can be stored.
     *
     * @throws ProblemException {@code no-streams-key}
     */
    void requireKey() {
        if (key == null) {
            throw new ProblemException(
                    ProblemType.NO_STREAMS_KEY,
                    "The service has no key to keep the sink's secret with. Ask its operator to set"
                            + " ANNALS_STREAMS_KEY_FILE or ANNALS_STREAMS_KEY to 64 hexadecimal digits, as openssl rand"
                            + " -hex 32 makes them.");
        }
    }

    byte[] encrypt(UUID projectId, UUID streamId, String secret) {
        byte[] nonce = new byte[NONCE_BYTES];
        random.nextBytes(nonce);
        try {
            byte[] encrypted = cipher(Cipher.ENCRYPT_MODE, nonce, projectId, streamId)
                    .doFinal(secret.getBytes(StandardCharsets.UTF_8));
            return ByteBuffer.allocate(NONCE_BYTES + encrypted.length)
                    .put(nonce)
                    .put(encrypted)
                    .array();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has " + CIPHER, e);
        }
    }

    /**
     * @throws UnreadableSecretException if it was encrypted with another key or for another stream, or if there is no key
     */
    String decrypt(UUID projectId, UUID streamId, byte[] stored) {
        if (key == null || stored.length < NONCE_BYTES) {
            throw new UnreadableSecretException();
        }
        try {
            return new String(
                    cipher(Cipher.DECRYPT_MODE, Arrays.copyOf(stored, NONCE_BYTES), projectId, streamId)
                            .doFinal(stored, NONCE_BYTES, stored.length - NONCE_BYTES),
                    StandardCharsets.UTF_8);
        } catch (GeneralSecurityException e) {
            throw new UnreadableSecretException();
        }
    }

    /** Whether this key has encrypted a stream's stored secret. */
    public boolean opens(UUID projectId, UUID streamId, byte[] stored) {
        try {
            decrypt(projectId, streamId, stored);
            return true;
        } catch (UnreadableSecretException e) {
            return false;
        }
    }

    private Cipher cipher(int mode, byte[] nonce, UUID projectId, UUID streamId) throws GeneralSecurityException {
        Cipher cipher = Cipher.getInstance(CIPHER);
        cipher.init(mode, key, new GCMParameterSpec(TAG_BITS, nonce));
        cipher.updateAAD(ByteBuffer.allocate(32)
                .putLong(projectId.getMostSignificantBits())
                .putLong(projectId.getLeastSignificantBits())
                .putLong(streamId.getMostSignificantBits())
                .putLong(streamId.getLeastSignificantBits())
                .array());
        return cipher;
    }

    static final class UnreadableSecretException extends RuntimeException {

        private static final long serialVersionUID = 1;

        UnreadableSecretException() {
            super(
                    "The sink's secret cannot be decrypted with this instance's key: check ANNALS_STREAMS_KEY_FILE, or set the"
                            + " stream with its secret again.",
                    null,
                    false,
                    false);
        }
    }
}
