package dev.annals.tools.embedded;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The content of a dump: a line with the format and the version of PostgreSQL, a line for each file with its SHA-256, size and
 * name, and a last line with the SHA-256 of all lines before it.
 */
record DumpManifest(String version, Map<String, String> files) {

    static final String NAME = "annals-dump";

    private static final String FORMAT = "annals-dump/1 PostgreSQL ";
    private static final int SUM_LENGTH = 64;

    /** A SHA-256 in progress. */
    static final class Digest {

        private final MessageDigest digest;

        Digest() {
            try {
                digest = MessageDigest.getInstance("SHA-256");
            } catch (NoSuchAlgorithmException e) {
                throw new AssertionError("every Java platform has SHA-256", e);
            }
        }

        void update(byte[] bytes, int length) {
            digest.update(bytes, 0, length);
        }

        String hex() {
            return HexFormat.of().formatHex(digest.digest());
        }

        static String of(String text) {
            Digest digest = new Digest();
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            digest.update(bytes, bytes.length);
            return digest.hex();
        }
    }

    /** Collects the lines while the files are written. */
    static final class Builder {

        private final StringBuilder lines = new StringBuilder();
        private String version = "unknown";

        void version(String ofServer) {
            version = ofServer;
        }

        void add(String name, long size, Digest digest) {
            lines.append(file(size, digest.hex())).append(' ').append(name).append('\n');
        }

        byte[] build() {
            String text = FORMAT + version + "\n" + lines;
            return (text + Digest.of(text) + "\n").getBytes(StandardCharsets.UTF_8);
        }
    }

    /** The description of a file. */
    static String file(long size, String hash) {
        return hash + " " + size;
    }

    /**
     * Parses a manifest.
     *
     * @throws IllegalArgumentException if it is damaged
     */
    static DumpManifest parse(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.UTF_8);
        int sum = text.length() - SUM_LENGTH - 1;
        if (!text.startsWith(FORMAT)
                || sum < 0
                || !text.substring(sum).equals(Digest.of(text.substring(0, sum)) + "\n")) {
            throw new IllegalArgumentException("its list of files is damaged");
        }
        List<String> lines = text.substring(0, sum).lines().toList();
        Map<String, String> files = new LinkedHashMap<>();
        for (String line : lines.subList(1, lines.size())) {
            int name = line.indexOf(' ', SUM_LENGTH + 1);
            files.put(line.substring(name + 1), line.substring(0, name));
        }
        return new DumpManifest(lines.get(0).substring(FORMAT.length()), files);
    }
}
