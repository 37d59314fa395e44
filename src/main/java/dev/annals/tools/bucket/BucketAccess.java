package dev.annals.tools.bucket;

import dev.annals.edges.delivery.S3Credentials;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The keys to a bucket. */
@RegisterForReflection
public final class BucketAccess {

    @Option(
            names = "--secret-file",
            paramLabel = "FILE",
            description =
                    "A file with ACCESS_KEY:SECRET_KEY for s3+https://…. Default: the keys of this process, as AWS's"
                            + " programs find them: AWS_ACCESS_KEY_ID, a web identity, a profile, or a role.")
    @Nullable
    Path secretFile;

    /**
     * The bucket of a URL.
     *
     * @throws IllegalArgumentException if the URL or the file of the keys cannot be used
     */
    public Bucket open(String url) {
        return new Bucket(url, secretFile == null ? null : secret(secretFile));
    }

    private static String secret(Path file) {
        String text;
        try {
            text = Files.readString(file).strip();
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "The file " + file + " (--secret-file) cannot be read ("
                            + e.getClass().getSimpleName() + ").",
                    e);
        }
        if (!S3Credentials.TEXT.matcher(text).matches()) {
            throw new IllegalArgumentException(
                    "The file " + file + " (--secret-file) must have the access key, a colon, and the secret key.");
        }
        return text;
    }
}
