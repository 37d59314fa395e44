package dev.annals.tools.cli;

import dev.annals.tools.bucket.Bucket;
import dev.annals.tools.bucket.ObjectLock;
import dev.annals.tools.bucket.Upload;
import java.io.IOException;
import java.io.InputStream;
import java.time.LocalDate;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * An archive's object in a bucket: {@code project=<id>/year=2026/month=11/day=27/<first>-<last>.ndjson.gz}, with 18 digits for each
 * sequence id.
 */
final class ArchiveObject implements ArchiveTarget {

    private static final int MAX_NAME = 255;
    private static final int MOST_OF_A_RECORD = 1_000;
    private static final String SUFFIX = ".ndjson.gz";
    private static final Pattern LAST = Pattern.compile("([0-9]{18})" + Pattern.quote(SUFFIX));

    private final Bucket bucket;
    private final String begin;
    private final String key;
    private final @Nullable ObjectLock lock;
    private final long last;
    private long bytes;

    private ArchiveObject(Bucket bucket, String begin, long last, @Nullable ObjectLock lock) {
        this.bucket = bucket;
        this.begin = begin;
        this.last = last;
        this.key = begin + digits(last) + SUFFIX;
        this.lock = lock;
        if (name().length() > MAX_NAME) {
            throw new ClientFailure(
                    ClientFailure.USAGE,
                    "The prefix in --to is too long: names of archives have at most 255 characters.");
        }
    }

    /**
     * The object that begins with a record. An earlier run may have made it, up to another last record.
     *
     * @param day of the records, in UTC
     * @param lock null for none but the bucket's own
     */
    static ArchiveObject find(
            Bucket bucket, String project, LocalDate day, long first, long last, @Nullable ObjectLock lock)
            throws IOException {
        String begin = bucket.prefix()
                + String.format(
                        Locale.ROOT,
                        "project=%s/year=%04d/month=%02d/day=%02d/",
                        project,
                        day.getYear(),
                        day.getMonthValue(),
                        day.getDayOfMonth())
                + digits(first) + "-";
        for (String found : bucket.list(begin, MOST_OF_A_RECORD)) {
            Matcher end = LAST.matcher(found.substring(begin.length()));
            long through = end.matches() ? Long.parseLong(end.group(1)) : 0;
            if (through >= first && through <= last) {
                return new ArchiveObject(bucket, begin, through, lock);
            }
        }
        return new ArchiveObject(bucket, begin, last, lock);
    }

    private static String digits(long sequenceId) {
        return String.format(Locale.ROOT, "%018d", sequenceId);
    }

    /** The last record of an existing object; otherwise that of the new one. */
    long last() {
        return last;
    }

    @Override
    public String shown() {
        return bucket.shown(key);
    }

    @Override
    public String name() {
        return bucket.name() + "/" + key;
    }

    @Override
    public long bytes() {
        return bytes;
    }

    @Override
    public String write(Contents contents, Check check) throws IOException, InterruptedException {
        String written = null;
        if (bucket.find(key) != null) {
            Terminal.say("The object " + shown() + " exists already. It is checked, and recorded if it is complete.");
        } else {
            bucket.abortUploads(begin);
            try (Upload upload = bucket.upload(key, lock)) {
                contents.writePacked(upload);
                written = upload.finish();
            }
        }
        String read = readBack(check);
        if (written != null && !written.equals(read)) {
            throw new ClientFailure(
                    ClientFailure.FAILED,
                    "The store has other bytes for " + shown() + " than were written. Examine the store.");
        }
        return read;
    }

    private String readBack(Check check) throws IOException {
        Bucket.Stored stored = bucket.find(key);
        if (stored == null) {
            throw new ClientFailure(
                    ClientFailure.FAILED,
                    "The store does not have " + shown() + ", though it confirmed it. Examine the store.");
        }
        if (lock != null && !lock.isOf(stored)) {
            throw new ClientFailure(
                    ClientFailure.FAILED,
                    "The object " + shown()
                            + " is not recorded as an archive, because the store does not show the lock that"
                            + " --lock asks for. Enable Object Lock for the bucket, or archive to another prefix.");
        }
        bytes = stored.bytes();
        try (InputStream in = bucket.read(stored)) {
            return check.check(in, shown());
        }
    }
}
