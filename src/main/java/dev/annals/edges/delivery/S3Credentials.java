package dev.annals.edges.delivery;

import io.smallrye.mutiny.Uni;
import java.io.Serial;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The source of the keys that sign requests to a store. */
public interface S3Credentials {

    /** The access key, a colon, and the secret key. */
    Pattern TEXT = Pattern.compile("[!-9;-~]{3,128}:[!-~]{8,256}");

    /**
     * Keys of one identity.
     *
     * @param sessionToken of temporary keys; null for lasting ones
     */
    record Keys(
            String accessKey, String secretKey, @Nullable String sessionToken) {

        /** Without secrets: texts of records end up in logs. */
        @Override
        public String toString() {
            return "Keys[" + accessKey + "]";
        }
    }

    /** No keys are available. The message says what was tried and what to do, and has no secret. */
    final class NoCredentialsException extends RuntimeException {

        @Serial
        private static final long serialVersionUID = 1;

        private final boolean isTemporary;

        NoCredentialsException(String message, boolean isTemporary) {
            super(message, null, false, false);
            this.isTemporary = isTemporary;
        }

        /** Whether the source may have some later. */
        public boolean isTemporary() {
            return isTemporary;
        }
    }

    /**
     * Keys that are valid now.
     *
     * @return fails with {@link NoCredentialsException}
     */
    Uni<Keys> keys();

    /** Keys in place of those that a store rejected; the same ones if there are no others. */
    default Uni<Keys> otherThan(Keys rejected) {
        return keys();
    }

    /**
     * Keys that last.
     *
     * @param text as in {@link #TEXT}
     */
    static S3Credentials of(String text) {
        int colon = text.indexOf(':');
        Keys keys = new Keys(text.substring(0, colon), text.substring(colon + 1), null);
        return () -> Uni.createFrom().item(keys);
    }
}
