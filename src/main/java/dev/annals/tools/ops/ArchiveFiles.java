package dev.annals.tools.ops;

import dev.annals.proof.CompactRange;
import dev.annals.proof.ProvedFile;
import dev.annals.proof.ProvedRecord;
import dev.annals.proof.VerifierKey;
import dev.annals.tools.command.Progress;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import java.util.function.BiConsumer;
import java.util.regex.Matcher;
import java.util.zip.ZipException;

/**
 * Consecutive files of an archive. Each is as the log has signed it, and its log continues the log of the file before.
 *
 * @param files in the order of their records
 */
record ArchiveFiles(List<Checked> files) {

    private static final int MOST_FINDINGS = 10;

    /** The bytes of a file or an object. */
    interface Bytes {
        InputStream open() throws IOException;
    }

    /**
     * A file, or an object in a bucket.
     *
     * @param name its path or URL
     */
    record Source(String name, Bytes bytes) {

        static Source of(Path path) {
            return new Source(path.toString(), () -> Files.newInputStream(path));
        }

        String fileName() {
            return name.substring(name.lastIndexOf('/') + 1);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    /**
     * A verified file.
     *
     * @param project of the log
     * @param name of the project, which nothing proves
     * @param before the tree of the records before those of the file
     * @param through the tree of the records up to its last one
     * @param behind the tree of the records after it
     */
    record Checked(
            Source source,
            UUID project,
            String name,
            String note,
            CompactRange before,
            CompactRange through,
            CompactRange behind,
            String sha256) {

        long first() {
            return before.end() + 1;
        }

        long last() {
            return through.end();
        }
    }

    /**
     * Reads all files from beginning to end.
     *
     * @throws IllegalArgumentException if a file is not what the log has signed, or the files are not consecutive
     */
    static ArchiveFiles check(List<Source> sources, List<VerifierKey> keys, Progress progress) throws IOException {
        List<Checked> files = new ArrayList<>();
        for (Source source : sources) {
            progress.show("Checking file " + (files.size() + 1) + " of " + sources.size());
            files.add(read(source, keys, (text, record) -> {}));
        }
        files.sort(Comparator.comparing(Checked::first));
        for (int at = 1; at < files.size(); at++) {
            requireNext(files.get(at - 1), files.get(at));
        }
        return new ArchiveFiles(files);
    }

    private static void requireNext(Checked before, Checked next) {
        if (!next.project.equals(before.project)) {
            throw new IllegalArgumentException("The files " + before.source + " and " + next.source
                    + " belong to different projects: restore each into a database of its own.");
        }
        if (next.first() > before.last() + 1) {
            throw new IllegalArgumentException("The records " + (before.last() + 1) + " to " + (next.first() - 1)
                    + " are missing between " + before.source + " and " + next.source
                    + ": name their file, too, or restore fewer.");
        }
        if (next.first() <= before.last()) {
            throw new IllegalArgumentException("The files " + before.source + " and " + next.source
                    + " have some of the same records: name one of them.");
        }
        if (!next.before.hashes().equals(before.through.hashes())) {
            throw new IllegalArgumentException("The log of " + next.source + " does not continue the log of "
                    + before.source + ": they have different histories.");
        }
    }

    /**
     * Reads a file.
     *
     * @param taker gets its records, which are unverified until this returns
     * @throws IllegalArgumentException if the file is not what the log has signed
     */
    static Checked read(Source source, List<VerifierKey> keys, BiConsumer<String, ProvedRecord> taker)
            throws IOException {
        List<String> findings = new ArrayList<>();
        MessageDigest digest = sha256();
        try (InputStream in = new DigestInputStream(source.bytes().open(), digest)) {
            ProvedFile file = new ProvedFile(ProvedFile.unpacked(in), keys, 0, null, finding -> {
                if (findings.size() < MOST_FINDINGS) {
                    findings.add(finding);
                }
            });
            Matcher origin = Verify.ORIGIN.matcher(file.signed().origin());
            if (file.verify(taker) == 0 && file.isArchive() && origin.find()) {
                in.transferTo(OutputStream.nullOutputStream());
                return new Checked(
                        source,
                        UUID.fromString(origin.group(1)),
                        file.project(),
                        file.note(),
                        file.before(),
                        file.through(),
                        file.behind(),
                        HexFormat.of().formatHex(digest.digest()));
            }
            if (findings.isEmpty()) {
                findings.add("it is no archive of a project");
            }
        } catch (NoSuchFileException e) {
            throw new IllegalArgumentException("There is no file " + source + ".", e);
        } catch (IllegalArgumentException | EOFException | ZipException e) {
            findings.add(e.getMessage() == null ? e.toString() : e.getMessage());
        }
        throw new IllegalArgumentException("Nothing was restored: " + source + " is not what the log has signed: "
                + String.join("; ", findings) + ".");
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    Checked oldest() {
        return files.get(0);
    }

    Checked newest() {
        return files.get(files.size() - 1);
    }
}
