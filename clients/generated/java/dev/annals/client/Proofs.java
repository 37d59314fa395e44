package dev.annals.client;

import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * What proves a feed, as docs/leaf-format.md specifies it: leaves, trees, signed notes. It needs no network, and believes nothing
 * but the keys. What does not hold is an IllegalArgumentException that says why.
 */
final class Proofs {
    private static final int HASH_BYTES = 32;
    private static final int SALT_BYTES = 16;

    private Proofs() {}

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise);
        }
    }

    // ---- Hashes ----

    private static byte[] sha256(byte[]... parts) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            for (byte[] part : parts) {
                digest.update(part);
            }
            return digest.digest();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] node(byte[] left, byte[] right) {
        return sha256(new byte[] {1}, left, right);
    }

    private static String base64url(byte[] bytes) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    private static byte[] fromBase64url(String text, int length) {
        byte[] bytes = Base64.getUrlDecoder().decode(text);
        require(
                bytes.length == length && base64url(bytes).equals(text),
                "a seed, salt or digest is not base64url of " + length + " bytes without padding");
        return bytes;
    }

    /** Reads a hash out of base64. */
    static byte[] hash(String base64) {
        byte[] bytes = Base64.getDecoder().decode(base64);
        require(
                bytes.length == HASH_BYTES
                        && Base64.getEncoder().encodeToString(bytes).equals(base64),
                "what should be a hash is not the base64 of 32 bytes");
        return bytes;
    }

    /** Reads a JSON array of hashes. */
    static List<byte[]> hashes(String array) {
        List<byte[]> hashes = new ArrayList<>();
        ExactText.elements(array).forEach(hash -> hashes.add(hash(ExactText.string(hash))));
        return hashes;
    }

    // ---- Records ----

    private static final Set<String> FIELDS = Set.of(
            "action",
            "actor.id",
            "actor.name",
            "actor.type",
            "ip_address",
            "message",
            "metadata",
            "number",
            "outcome",
            "recorded_by",
            "subject.id",
            "subject.name",
            "subject.type",
            "timestamp");

    /** Of records with an action of the service's own only {@code message}. */
    private static final Set<String> REDACTABLE = Set.of(
            "actor.type",
            "actor.id",
            "actor.name",
            "subject.type",
            "subject.id",
            "subject.name",
            "outcome",
            "ip_address",
            "message",
            "metadata");

    private static final String OWN_ACTION = "\"annals.";

    /** The action of records that say what was redacted. Only the service's database can write them. */
    static final String REDACT = "annals.redact";

    /** The entry of a record, which its leaf hashes. */
    static final class Entry {
        final String id;
        final long sequenceId;
        final byte[] hash;
        /** The fields whose values are gone. */
        final Set<String> redacted;

        private final Map<String, String> fields;

        private Entry(String id, long sequenceId, byte[] hash, Map<String, String> fields, Set<String> redacted) {
            this.id = id;
            this.sequenceId = sequenceId;
            this.hash = hash;
            this.fields = fields;
            this.redacted = redacted;
        }

        /** The fields of another record which this one says were redacted; empty where it says nothing of that record. */
        Set<String> redactedOf(Entry other) {
            if (!ExactText.quoted(REDACT).equals(fields.get("action"))) {
                return Set.of();
            }
            try {
                SortedMap<String, String> says = ExactText.members(fields.getOrDefault("metadata", ""));
                if (!"\"record\"".equals(fields.get("subject.type"))
                        || !fields.containsKey("recorded_by")
                        || !ExactText.quoted(other.id).equals(fields.get("subject.id"))
                        || !Long.toString(other.sequenceId).equals(says.get("sequence_id"))
                        || other.sequenceId >= sequenceId) {
                    return Set.of();
                }
                Set<String> named = new TreeSet<>();
                ExactText.elements(says.getOrDefault("fields", "[]"))
                        .forEach(name -> named.add(ExactText.string(name)));
                return named;
            } catch (IllegalArgumentException e) {
                return Set.of();
            }
        }

        byte[] leaf() {
            return sha256(new byte[] {0}, hash);
        }

        /** Computes it from a record of the API with {@code seed}, or with {@code salts} and {@code redacted}. */
        static Entry of(String record) {
            SortedMap<String, String> members = ExactText.members(record);
            String seed = members.remove("seed");
            String salts = members.remove("salts");
            String redacted = members.remove("redacted");
            String id = ExactText.string(taken(members, "id"));
            String recordedAt = ExactText.string(taken(members, "recorded_at"));
            long sequenceId = natural(taken(members, "sequence_id"));
            SortedMap<String, String> fields = fields(members);
            SortedMap<String, String> digests;
            if (seed != null && salts == null && redacted == null) {
                byte[] bytes = fromBase64url(ExactText.string(seed), HASH_BYTES);
                digests = new TreeMap<>();
                fields.forEach((name, value) -> digests.put(name, digest(salt(bytes, name), name, value)));
            } else {
                require(
                        seed == null && salts != null && redacted != null,
                        "record " + id + " has neither a seed, nor salts and redacted");
                digests = digests(id, fields, ExactText.members(salts), ExactText.members(redacted));
            }
            SortedMap<String, String> entry = new TreeMap<>();
            entry.put("annals", "\"leaf/1\"");
            entry.put("fields", ExactText.object(digests));
            entry.put("id", ExactText.quoted(id));
            entry.put("recorded_at", ExactText.quoted(recordedAt));
            entry.put("sequence_id", Long.toString(sequenceId));
            Set<String> gone =
                    redacted == null ? Set.of() : ExactText.members(redacted).keySet();
            return new Entry(id, sequenceId, sha256(utf8(ExactText.object(entry))), fields, gone);
        }

        private static String taken(SortedMap<String, String> members, String name) {
            String value = members.remove(name);
            require(value != null, "a record has no " + name);
            return value;
        }

        private static SortedMap<String, String> fields(SortedMap<String, String> members) {
            SortedMap<String, String> fields = new TreeMap<>();
            members.forEach((name, value) -> {
                if (name.equals("actor") || name.equals("subject")) {
                    ExactText.members(value).forEach((part, of) -> fields.put(name + "." + part, of));
                } else if (!name.equals("metadata") || !value.equals("{}")) {
                    fields.put(name, value);
                }
            });
            fields.keySet().forEach(name -> require(FIELDS.contains(name), "no leaf covers the field " + name));
            return fields;
        }

        private static String salt(byte[] seed, String name) {
            return base64url(Arrays.copyOf(sha256(seed, utf8(name)), SALT_BYTES));
        }

        private static String digest(String salt, String name, String value) {
            String salted = "[\"" + salt + "\",\"" + name + "\"," + value + "]";
            return "\"" + base64url(sha256(utf8(salted))) + "\"";
        }

        private static SortedMap<String, String> digests(
                String id,
                SortedMap<String, String> fields,
                SortedMap<String, String> salts,
                Map<String, String> redacted) {
            require(salts.keySet().equals(fields.keySet()), "record " + id + " has other salts than fields");
            boolean isOwn = fields.getOrDefault("action", OWN_ACTION).startsWith(OWN_ACTION);
            SortedMap<String, String> digests = new TreeMap<>();
            fields.forEach((name, value) -> {
                String salt = ExactText.string(salts.get(name));
                fromBase64url(salt, SALT_BYTES);
                digests.put(name, digest(salt, name, value));
            });
            redacted.forEach((name, digest) -> {
                fromBase64url(ExactText.string(digest), HASH_BYTES);
                require(
                        (isOwn ? name.equals("message") : REDACTABLE.contains(name))
                                && digests.put(name, digest) == null,
                        "record " + id + " cannot have redacted its field " + name);
            });
            return digests;
        }
    }

    /** Reads a whole number from 0 on. */
    static long natural(String text) {
        require(text != null && text.matches("0|[1-9][0-9]{0,17}"), text + " is no size and no place");
        return Long.parseLong(text);
    }

    // ---- Trees ----

    /** The log of {@code size} records. */
    static final class Tree {
        final long size;
        final byte[] root;

        Tree(long size, byte[] root) {
            this.size = size;
            this.root = root;
        }
    }

    /** Whether one tree begins with another: RFC 9162, section 2.1.4.2. */
    static boolean isConsistent(Tree from, Tree to, List<byte[]> proof) {
        if (from.size == to.size) {
            return proof.isEmpty() && Arrays.equals(from.root, to.root);
        }
        if (from.size == 0 || from.size > to.size) {
            return from.size == 0 && proof.isEmpty() && Arrays.equals(from.root, sha256());
        }
        int levels = Long.numberOfTrailingZeros(from.size);
        long node = (from.size - 1) >> levels;
        long last = (to.size - 1) >> levels;
        List<byte[]> path = new ArrayList<>(proof);
        // A tree whose size is a power of two is a node itself, and not in the proof.
        if (node == 0) {
            path.add(0, from.root);
        }
        if (path.isEmpty()) {
            return false;
        }
        byte[] before = path.get(0);
        byte[] after = path.get(0);
        for (byte[] sibling : path.subList(1, path.size())) {
            if (last == 0) {
                return false;
            }
            if ((node & 1) == 1 || node == last) {
                before = node(sibling, before);
                after = node(sibling, after);
                while ((node & 1) == 0 && node != 0) {
                    node >>= 1;
                    last >>= 1;
                }
            } else {
                after = node(after, sibling);
            }
            node >>= 1;
            last >>= 1;
        }
        return last == 0 && Arrays.equals(before, from.root) && Arrays.equals(after, to.root);
    }

    /** The sizes of the fewest whole subtrees that cover these leaves, from left to right. */
    private static List<Long> covering(long start, long end) {
        List<Long> sizes = new ArrayList<>();
        for (long at = start; at < end; at += sizes.get(sizes.size() - 1)) {
            long largest = Long.highestOneBit(end - at);
            sizes.add(at == 0 ? largest : Math.min(largest, Long.lowestOneBit(at)));
        }
        return sizes;
    }

    /** The root of a tree of which some leaves are known, and the compact ranges of those before and behind them. */
    static byte[] rootAround(List<byte[]> left, long start, List<byte[]> leaves, List<byte[]> right, long size) {
        long end = start + leaves.size();
        require(end <= size, "the page is longer than the log");
        List<Long> sizes = covering(0, start);
        List<Long> behind = covering(end, size);
        require(
                left.size() == sizes.size() && right.size() == behind.size(),
                "the proof has more or fewer hashes than its places need");
        List<byte[]> nodes = new ArrayList<>(left);
        long place = start;
        for (int i = 0; i < leaves.size() + right.size(); i++) {
            boolean isLeaf = i < leaves.size();
            long width = isLeaf ? 1 : behind.get(i - leaves.size());
            byte[] hash = isLeaf ? leaves.get(i) : right.get(i - leaves.size());
            place += width;
            // The last node is the left sibling: both become one.
            for (int top = nodes.size() - 1; top >= 0 && sizes.get(top) == width && place % (2 * width) == 0; top--) {
                hash = node(nodes.remove(top), hash);
                width += sizes.remove(top);
            }
            nodes.add(hash);
            sizes.add(width);
        }
        if (nodes.isEmpty()) {
            return sha256();
        }
        byte[] root = nodes.get(nodes.size() - 1);
        for (int i = nodes.size() - 2; i >= 0; i--) {
            root = node(nodes.get(i), root);
        }
        return root;
    }

    /** A page whose records are proved. */
    static final class Page {
        final long start;
        final long end;
        /** Each as it was proved. */
        final List<String> records;

        final List<Entry> entries;
        final Map<String, String> members;

        private Page(long start, long end, List<String> records, List<Entry> entries, Map<String, String> members) {
            this.start = start;
            this.end = end;
            this.records = records;
            this.entries = entries;
            this.members = members;
        }
    }

    /** Checks that the records of a page are those of a log, in their order, and that none between them is left out. */
    static Page page(String json, Tree log) {
        SortedMap<String, String> members = ExactText.members(json);
        require(members.containsKey("proof") && members.containsKey("results"), "the page has no proof");
        SortedMap<String, String> proof = ExactText.members(members.get("proof"));
        require(proof.keySet().containsAll(Set.of("start", "end", "left", "right")), "the page has no proof");
        long start = natural(proof.get("start"));
        long end = natural(proof.get("end"));
        List<String> records = ExactText.elements(members.get("results"));
        require(end - start == records.size(), "the proof of the page is about other records");
        List<byte[]> leaves = new ArrayList<>();
        List<Entry> entries = new ArrayList<>();
        for (String record : records) {
            Entry entry = Entry.of(record);
            entries.add(entry);
            long place = start + leaves.size() + 1;
            require(
                    entry.sequenceId == place,
                    "record " + entry.id + " has the sequence id " + entry.sequenceId + ", and its place is " + place);
            leaves.add(entry.leaf());
        }
        byte[] root = rootAround(hashes(proof.get("left")), start, leaves, hashes(proof.get("right")), log.size);
        require(
                Arrays.equals(root, log.root),
                "the records with the sequence ids " + (start + 1) + " to " + end + " are not those of the log of "
                        + log.size + " records");
        return new Page(start, end, records, entries, members);
    }

    // ---- Keys and notes ----

    /** A key of a log: C2SP signed-note, Ed25519. */
    static final class Key {
        private static final Pattern TEXT =
                Pattern.compile("([^+\\s\\p{Z}\\p{Cntrl}]{1,1024})\\+([0-9a-f]{8})\\+([0-9A-Za-z+/=]{1,64})");
        private static final int ED25519 = 1;
        /** What comes before the 32 bytes of an Ed25519 key in the encoding that Java reads: RFC 8410. */
        private static final byte[] HEADER = new BigInteger("302a300506032b6570032100", 16).toByteArray();

        final String name;
        private final byte[] id;
        private final PublicKey key;

        private Key(String name, byte[] id, PublicKey key) {
            this.name = name;
            this.id = id;
            this.key = key;
        }

        static Key parse(String vkey) {
            Matcher matcher = TEXT.matcher(vkey);
            require(matcher.matches(), "\"" + vkey + "\" is no key: it looks like name+id+key");
            byte[] bytes = Base64.getDecoder().decode(matcher.group(3));
            require(bytes.length == 1 + HASH_BYTES && bytes[0] == ED25519, "this key is not that of a log");
            byte[] id = Arrays.copyOf(sha256(utf8(matcher.group(1) + "\n"), bytes), Integer.BYTES);
            require(
                    String.format("%08x", ByteBuffer.wrap(id).getInt()).equals(matcher.group(2)),
                    "the key " + matcher.group(1) + " has another id than " + matcher.group(2));
            ByteArrayOutputStream encoded = new ByteArrayOutputStream();
            encoded.writeBytes(HEADER);
            encoded.write(bytes, 1, HASH_BYTES);
            try {
                KeyFactory factory = KeyFactory.getInstance("Ed25519");
                return new Key(
                        matcher.group(1), id, factory.generatePublic(new X509EncodedKeySpec(encoded.toByteArray())));
            } catch (NoSuchAlgorithmException e) {
                throw new IllegalStateException("Verifying needs Java 15 or newer, which has Ed25519", e);
            } catch (GeneralSecurityException e) {
                throw new IllegalArgumentException("these are no 32 bytes of an Ed25519 key", e);
            }
        }

        private boolean verifies(String text, byte[] signature) {
            try {
                Signature verifier = Signature.getInstance("Ed25519");
                verifier.initVerify(key);
                verifier.update(utf8(text));
                return verifier.verify(signature);
            } catch (GeneralSecurityException e) {
                // what is no signature at all
                return false;
            }
        }
    }

    private static final int MAX_NOTE = 131_072;
    private static final Pattern SIGNATURE = Pattern.compile("\u2014 ([^+\\s\\p{Z}]+) ([0-9A-Za-z+/=]+)");
    private static final Pattern CONTROL = Pattern.compile("[\\x00-\\x09\\x0b-\\x1f]");

    /** A checkpoint that a key of its log has signed. */
    static final class Checkpoint {
        final String note;
        final Tree tree;

        private Checkpoint(String note, Tree tree) {
            this.note = note;
            this.tree = tree;
        }

        /** Reads a checkpoint: C2SP tlog-checkpoint. Only keys with the log's origin as their name count. */
        static Checkpoint open(String note, List<Key> keys) {
            int split = note.lastIndexOf("\n\n");
            require(
                    note.length() <= MAX_NOTE
                            && split > 0
                            && note.endsWith("\n")
                            && !CONTROL.matcher(note).find(),
                    "this is no signed note");
            String text = note.substring(0, split + 1);
            String[] lines = text.substring(0, split).split("\n", -1);
            require(lines.length >= 3 && Arrays.stream(lines).noneMatch(String::isEmpty), "this note is no checkpoint");
            List<Key> signers =
                    keys.stream().filter(key -> key.name.equals(lines[0])).collect(Collectors.toList());
            require(
                    !signers.isEmpty(),
                    "the checkpoint is that of the log " + lines[0] + ", of which no key is known here");
            boolean signed = false;
            for (String line : note.substring(split + 2, note.length() - 1).split("\n", -1)) {
                signed |= isSigned(text, line, signers);
            }
            require(signed, "no key of " + lines[0] + " has signed this checkpoint");
            return new Checkpoint(note, new Tree(natural(lines[1]), hash(lines[2])));
        }

        private static boolean isSigned(String text, String line, List<Key> keys) {
            Matcher matcher = SIGNATURE.matcher(line);
            require(matcher.matches(), "this note has signatures that are none");
            byte[] bytes = Base64.getDecoder().decode(matcher.group(2));
            for (Key key : keys) {
                if (bytes.length > Integer.BYTES
                        && matcher.group(1).equals(key.name)
                        && Arrays.equals(key.id, Arrays.copyOf(bytes, Integer.BYTES))) {
                    require(
                            key.verifies(text, Arrays.copyOfRange(bytes, Integer.BYTES, bytes.length)),
                            "the signature of " + key.name + " does not hold");
                    return true;
                }
            }
            return false;
        }
    }
}
