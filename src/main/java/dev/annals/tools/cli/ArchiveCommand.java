package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.kernel.http.Timestamps;
import dev.annals.proof.ProvedFile;
import dev.annals.proof.RedactedValues;
import dev.annals.proof.VerifierKey;
import dev.annals.tools.bucket.Bucket;
import dev.annals.tools.bucket.BucketAccess;
import dev.annals.tools.bucket.ObjectLock;
import dev.annals.tools.command.Progress;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.function.LongConsumer;
import java.util.zip.ZipException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code archive}: writes the oldest records of a project to files or objects. */
@Command(
        name = "archive",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Writes records of the token's project that are in no archive into files that prove themselves, or into"
                        + " objects: expired records, or those that an option names. Reads each back, verifies it as annals"
                        + " check does, and then records it with the token in ANNALS_ADMIN_TOKEN. Prints the file, sequence"
                        + " ids and SHA-256. Run it again after a failure: it continues where it stopped.")
@RegisterForReflection
public final class ArchiveCommand extends AnswerCommand {

    private static final int MOST_RECORDS = 100_000_000;
    private static final int MOST_FINDINGS = 10;
    /** A hundred years. */
    private static final int MOST_DAYS = 36_525;

    @Mixin
    PinnedKeys pinned = new PinnedKeys();

    /** The redacted values in the last checked file, and how many of them have no annals.redact record in the file. */
    private long redacted;

    private long unnamed;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "DIR",
            description = "The directory for the files. Default: this one.")
    @Nullable
    Path directory;

    @Option(
            names = "--to",
            paramLabel = "URL",
            description =
                    "A bucket instead of a directory: s3+https://host/bucket/prefix. Each object has the records of one"
                            + " day, and the day in its name.")
    @Nullable
    String to;

    @Mixin
    BucketAccess access = new BucketAccess();

    @Option(
            names = "--lock",
            paramLabel = "MODE",
            description =
                    "Locks each object: governance, or compliance, which no user of the store can lift. Needs --lock-days.")
    @Nullable
    String lockMode;

    @Option(
            names = "--lock-days",
            paramLabel = "DAYS",
            description = "How long each object is locked, from its creation on.")
    @Nullable
    Integer lockDays;

    @Option(names = "--through", paramLabel = "ID", description = "Up to this sequence id.")
    @Nullable
    Long through;

    @Option(
            names = "--until",
            paramLabel = "TIME",
            description =
                    "Records from before this time, such as 2026-01-31T00:00:00Z. Default: all that have expired by the"
                            + " project's retention.")
    @Nullable
    String until;

    @Option(
            names = "--records",
            paramLabel = "COUNT",
            description = "The largest number of records in a file. Default: ${DEFAULT-VALUE}.")
    int records = 1_000_000;

    private Progress progress = Progress.none();

    @Override
    int run() throws IOException, InterruptedException {
        if (records < 1 || records > MOST_RECORDS) {
            throw new ClientFailure(ClientFailure.USAGE, "--records has to be from 1 to " + MOST_RECORDS + ".");
        }
        if (through != null && (until != null || through < 1)) {
            throw new ClientFailure(
                    ClientFailure.USAGE, "--through is a sequence id, 1 or more, and does not go with --until.");
        }
        ObjectLock lock = lock();
        if (to != null && directory != null) {
            throw new ClientFailure(ClientFailure.USAGE, "--to does not go with --output.");
        }
        progress = Progress.onTerminal();
        try (Bucket bucket = bucket()) {
            return archive(bucket, lock);
        } finally {
            progress.end();
        }
    }

    private @Nullable Bucket bucket() {
        try {
            return to == null ? null : access.open(to);
        } catch (IllegalArgumentException e) {
            throw new ClientFailure(ClientFailure.USAGE, String.valueOf(e.getMessage()));
        }
    }

    private @Nullable ObjectLock lock() {
        if (lockMode == null && lockDays == null) {
            return null;
        }
        String mode = lockMode == null ? "" : lockMode.toUpperCase(Locale.ROOT);
        if (to == null
                || !(mode.equals("GOVERNANCE") || mode.equals("COMPLIANCE"))
                || lockDays == null
                || lockDays < 1
                || lockDays > MOST_DAYS) {
            throw new ClientFailure(
                    ClientFailure.USAGE,
                    "--lock is governance or compliance, --lock-days from 1 to " + MOST_DAYS
                            + "; both need each other and --to.");
        }
        return new ObjectLock(mode, lockDays);
    }

    private int archive(@Nullable Bucket bucket, @Nullable ObjectLock lock) throws IOException, InterruptedException {
        List<VerifierKey> keys = pinned.keys();
        FollowedLog log = new FollowedLog(service, keys, pinned.policy());
        JsonNode project = Json.mapper()
                .readTree(service.send(service.request("/v1/whoami"), Duration.ZERO))
                .path("project");
        long next = Math.max(
                        project.path("archived_through").asLong(),
                        project.path("oldest_sequence_id").asLong(1) - 1)
                + 1;
        long size = log.advance().checkpoint().size();
        long end = through != null ? Math.min(through, size) : recordedBefore(cutoff(project), next, size);
        if (end < next) {
            Terminal.say("Nothing to archive: "
                    + (next == 1
                            ? "no record is old enough."
                            : "all records up to " + (next - 1) + " are archived or have expired."));
            return 0;
        }
        while (next <= end) {
            long last = Math.min(end, next + records - 1);
            ArchiveTarget target;
            if (bucket == null) {
                target = new ArchiveFile(
                        directory == null ? Path.of("") : directory,
                        project.path("name").asText(),
                        project.path("id").asText(),
                        next,
                        last);
            } else {
                ArchiveObject object = object(bucket, lock, project.path("id").asText(), next, last);
                last = object.last();
                target = object;
            }
            archive(target, log, keys, project, next, last);
            next = last + 1;
        }
        return 0;
    }

    /** The object for records from one day, in UTC. */
    private ArchiveObject object(Bucket bucket, @Nullable ObjectLock lock, String project, long first, long last)
            throws IOException, InterruptedException {
        LocalDate day = LocalDate.ofInstant(recordedAt(first), ZoneOffset.UTC);
        Instant next = day.plusDays(1).atStartOfDay(ZoneOffset.UTC).toInstant();
        return ArchiveObject.find(
                bucket, project, day, first, Math.max(first, recordedBefore(next, first, last)), lock);
    }

    private Instant cutoff(JsonNode project) {
        if (until != null) {
            OffsetDateTime time = Timestamps.parseInput(until);
            if (time == null) {
                throw new ClientFailure(
                        ClientFailure.USAGE,
                        "--until is \"" + until + "\", but has to be a time such as 2026-01-31T00:00:00Z.");
            }
            return time.toInstant();
        }
        if (project.path("retention_days").isNull()) {
            throw new ClientFailure(
                    ClientFailure.USAGE,
                    "Records of this project never expire. Name the records to archive with --until or --through.");
        }
        return Instant.now()
                .minus(Duration.ofDays(project.path("retention_days").asLong()));
    }

    /**
     * Finds the last record from before a time by a binary search. Times along the feed are out of order only by moments; a record
     * that the search misses is in the next archive.
     *
     * @return its sequence id; less than {@code first} if none is as old
     */
    private long recordedBefore(Instant cutoff, long first, long size) throws IOException, InterruptedException {
        long before = first - 1;
        long behind = size + 1;
        while (behind - before > 1) {
            long middle = before + (behind - before) / 2;
            if (recordedAt(middle).isBefore(cutoff)) {
                before = middle;
            } else {
                behind = middle;
            }
        }
        return before;
    }

    private Instant recordedAt(long sequenceId) throws IOException, InterruptedException {
        List<byte[]> found = PageReader.parse(service.send(
                        service.request(Connection.FEED + "?limit=1&cursor=" + (sequenceId - 1)), Duration.ZERO))
                .records();
        OffsetDateTime time = found.isEmpty()
                ? null
                : Timestamps.parse(
                        Json.mapper().readTree(found.get(0)).path("recorded_at").asText());
        if (time == null) {
            throw new ClientFailure(
                    ClientFailure.FAILED,
                    "The record " + sequenceId + " cannot be read, though the log has it. Check ANNALS_URL.");
        }
        return time.toInstant();
    }

    private void archive(
            ArchiveTarget file, FollowedLog log, List<VerifierKey> keys, JsonNode project, long first, long last)
            throws IOException, InterruptedException {
        String id = project.path("id").asText();
        LongConsumer reached = through -> progress.show("Written up to record " + through + " of " + last);
        ArchiveTarget.Contents contents = out ->
                new ProvedExport(log, out, reached).archive(project.path("name").asText(), first, last);
        String sha256 = file.write(contents, (in, shown) -> check(in, shown, keys, id, first, last));
        progress.end();
        try {
            service.administer(
                    "POST",
                    "/v1/projects/" + id + "/archives",
                    Json.mapper()
                            .createObjectNode()
                            .put("first_sequence_id", first)
                            .put("last_sequence_id", last)
                            .put("file_name", file.name())
                            .put("bytes", file.bytes())
                            .put("sha256", sha256));
        } catch (ClientFailure e) {
            throw new ClientFailure(
                    e.exitCode(),
                    e.getMessage() + " The file " + file.shown() + " is complete, but is not recorded as an archive.");
        }
        print(
                Json.mapper()
                        .createObjectNode()
                        .put("file", file.shown())
                        .put("first_sequence_id", first)
                        .put("last_sequence_id", last)
                        .put("sha256", sha256),
                file.shown() + "\t" + first + "-" + last + "\t" + sha256);
        if (redacted > 0) {
            Terminal.say(RedactedValues.count(redacted)
                    + (unnamed == 0
                            ? ""
                            : " For " + unnamed + " of them, a later record than " + last
                                    + " proves the redaction. The file alone does not show it."));
        }
    }

    /** Verifies a whole file, and returns its SHA-256. */
    private String check(
            InputStream stored, String shown, List<VerifierKey> keys, String project, long first, long last)
            throws IOException {
        progress.show("Reading back the records up to " + last);
        List<String> findings = new ArrayList<>();
        MessageDigest digest = sha256();
        try (InputStream in = new DigestInputStream(stored, digest)) {
            ProvedFile file = new ProvedFile(ProvedFile.unpacked(in), keys, first, null, finding -> {
                if (findings.size() < MOST_FINDINGS) {
                    findings.add(finding);
                }
            });
            if (file.verify() == 0) {
                redacted = file.redacted();
                unnamed = file.unnamed();
                pinned.policy().require(file.note());
                if (!file.isArchive()
                        || file.last() != last
                        || !file.signed().origin().contains("/projects/" + project + "/")) {
                    findings.add("it has other records than " + first + " to " + last + " of this project");
                }
            }
            in.transferTo(OutputStream.nullOutputStream());
        } catch (IllegalArgumentException | EOFException | ZipException e) {
            findings.add(e.getMessage() == null ? e.toString() : e.getMessage());
        }
        if (!findings.isEmpty()) {
            throw new ClientFailure(
                    ClientFailure.FAILED,
                    "The file " + shown + " is not recorded as an archive, because it is not what the log has signed: "
                            + String.join("; ", findings) + ". Move it elsewhere, or archive to another place.");
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }
}
