package dev.annals.tools.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.annals.BesideTheService;
import dev.annals.Load;
import dev.annals.derived.proof.MasterKey;
import dev.annals.derived.proof.SigningKey;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Hash;
import dev.annals.proof.ProvedFile;
import dev.annals.proof.ProvedRecord;
import dev.annals.proof.Seed;
import dev.annals.proof.TlogProof;
import dev.annals.proof.VerifierKey;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** Files with proofs, and every change to them on the way to the reader. */
@BesideTheService
class ProvedFileTest {

    private static final int RECORDS = 600;
    private static final int GROUP = 256;

    @TempDir
    Path folder;

    private final SigningKey key = MasterKey.draw().of("audit.example.org/v1/projects/" + UUID.randomUUID() + "/log/1");
    private final List<String> records = records(RECORDS);
    private final List<String> found = new ArrayList<>();

    private static List<String> records(int count) {
        Seed tile = Seed.of(new byte[Seed.BYTES]);
        return IntStream.rangeClosed(1, count)
                .mapToObj(n -> "{\"id\":\"" + new UUID(7, n) + "\",\"sequence_id\":" + n
                        + ",\"action\":\"a\",\"actor\":{\"id\":\"u" + n % 3
                        + "\"},\"timestamp\":\"2026-01-01T00:00:00Z\","
                        + "\"recorded_at\":\"2026-01-01T00:00:01Z\",\"metadata\":{\"n\":1.10},\"seed\":\""
                        + tile.ofRecord(n) + "\"}")
                .toList();
    }

    private static List<Hash> leaves(List<String> records) {
        return records.stream()
                .map(record -> ProvedRecord.parse(record).entry().leaf())
                .toList();
    }

    private static CompactRange range(List<Hash> leaves, int start, int end) {
        CompactRange range = CompactRange.at(start);
        leaves.subList(start, end).forEach(range::append);
        return range;
    }

    private Checkpoint checkpoint(List<String> of) {
        return new Checkpoint(
                key.verifier().name(),
                of.size(),
                range(leaves(of), 0, of.size()).root());
    }

    private static void hashes(ObjectNode proof, String name, List<Hash> hashes) {
        ArrayNode array = proof.putArray(name);
        hashes.forEach(hash -> array.add(hash.toString()));
    }

    /** The lines of a file: these records in a log of theirs. */
    private List<String> file(List<String> of, int start) {
        List<Hash> leaves = leaves(of);
        List<String> lines = new ArrayList<>();
        lines.add(Json.mapper()
                .createObjectNode()
                .put("annals", ProvedFile.EXPORT)
                .put("checkpoint", SigningKey.sign(checkpoint(of), List.of(key)).toString())
                .toString());
        for (int at = start; at < of.size(); at += GROUP) {
            int end = Math.min(at + GROUP, of.size());
            ObjectNode line = Json.mapper().createObjectNode();
            ObjectNode proof = line.putObject("proof").put("start", at).put("end", end);
            hashes(proof, "left", range(leaves, 0, at).hashes());
            hashes(proof, "right", range(leaves, end, of.size()).hashes());
            hashes(proof, "leaves", leaves.subList(at, end));
            lines.add(line.toString());
            lines.addAll(of.subList(at, end));
        }
        return lines;
    }

    private List<String> file() {
        return file(records, 0);
    }

    private long check(List<String> lines, long from, @Nullable Checkpoint older, VerifierKey... keys)
            throws IOException {
        return check((String.join("\n", lines) + "\n").getBytes(UTF_8), from, older, keys);
    }

    private long check(byte[] file, long from, @Nullable Checkpoint older, VerifierKey... keys) throws IOException {
        found.clear();
        return new ProvedFile(
                        new ByteArrayInputStream(file),
                        keys.length == 0 ? List.of(key.verifier()) : List.of(keys),
                        from,
                        older,
                        found::add)
                .verify();
    }

    private void assertFinds(List<String> lines, String... findings) throws IOException {
        check(lines, 1, null);
        assertThat(found).hasSize(findings.length);
        for (int i = 0; i < findings.length; i++) {
            assertThat(found.get(i)).contains(findings[i]);
        }
    }

    private static String id(int sequenceId) {
        return "record " + new UUID(7, sequenceId) + " with the sequence id " + sequenceId + " ";
    }

    /** The line of a record. */
    private static int line(int sequenceId) {
        return sequenceId + (sequenceId - 1) / GROUP + 1;
    }

    @Test
    void anExportIsVerified() throws Exception {
        assertThat(check(file(), 1, null)).as("%s", found).isZero();
        assertThat(check(file(records, 300), 301, null)).as("%s", found).isZero();
        assertThat(check(file(List.of(), 0), 1, null)).as("%s", found).isZero();
    }

    @Test
    void aRecordThatWasChangedIsNamed() throws Exception {
        for (int n : new int[] {1, 256, 257, 600}) {
            List<String> file = file();
            file.set(line(n), file.get(line(n)).replace("\"action\":\"a\"", "\"action\":\"b\""));
            assertFinds(file, id(n) + "in line " + (line(n) + 1) + " is not the log's");
        }
    }

    @Test
    void aChangedNumberIsNamedThoughItIsTheSameToFloatingPoint() throws Exception {
        List<String> file = file();
        file.set(line(5), file.get(line(5)).replace("1.10", "1.1"));
        assertFinds(file, id(5));
    }

    @Test
    void anAddedMemberOfARecordIsNamed() throws Exception {
        List<String> file = file();
        file.set(line(5), file.get(line(5)).replace("\"action\"", "\"approved\":true,\"action\""));
        assertFinds(file, "where record 5 should be, is no record of the log: no leaf covers the field approved");
    }

    @Test
    void aRecordThatIsMissingIsNamed() throws Exception {
        for (int n : new int[] {1, 100, 256, 300, 600}) {
            List<String> file = file();
            file.remove(line(n));
            assertFinds(file, "record " + n + " is missing");
        }
    }

    @Test
    void aRecordThatIsOneTooManyIsNamed() throws Exception {
        for (int n : new int[] {1, 100, 256, 600}) {
            List<String> file = file();
            file.add(line(n), file.get(line(n)));
            assertFinds(file, id(n) + "in line " + (line(n) + 2) + " is not where it belongs, or is one too many");
        }
    }

    @Test
    void recordsThatWereSwappedAreNamed() throws Exception {
        List<String> file = file();
        Collections.swap(file, line(10), line(11));
        assertFinds(file, "record 10 is missing", id(10) + "in line " + (line(11) + 1) + " is not where it belongs");
    }

    @Test
    void aRecordThatWasChangedTogetherWithItsHashIsNoticed() throws Exception {
        List<String> forged = new ArrayList<>(records);
        forged.set(299, forged.get(299).replace("\"action\":\"a\"", "\"action\":\"b\""));
        List<String> file = file(forged, 0);
        file.set(0, file().get(0));
        check(file, 1, null);
        assertThat(found).anyMatch(finding -> finding.startsWith("records 257 to 512 are not those of the log"));
    }

    @Test
    void aCutTailIsNoticed() throws Exception {
        for (int left : new int[] {1, 2, 100, line(256), line(256) + 1, line(600)}) {
            check(file().subList(0, left), 1, null);
            assertThat(found).as("%d lines", left).isNotEmpty();
            assertThat(found.get(found.size() - 1)).containsAnyOf("missing", "the file ends with record");
        }
    }

    @Test
    void aCutHeadIsNoticed() throws Exception {
        check(file(records, 256), 1, null);
        assertThat(found).singleElement().asString().contains("begins with record 257, and 1 should follow");
        check(file(records, 256), 1000, null);
        assertThat(found).isNotEmpty();
        check(file(records, records.size()), 1000, null);
        assertThat(found).isNotEmpty();
    }

    @Test
    void anotherKeysCheckpointIsNotEvenRead() {
        SigningKey other = MasterKey.draw().of(key.verifier().name());
        assertThatThrownBy(() -> check(file(), 1, null, other.verifier())).hasMessageContaining("no key of");
        VerifierKey elsewhere = MasterKey.draw().of("elsewhere/log/1").verifier();
        assertThatThrownBy(() -> check(file(), 1, null, elsewhere)).hasMessageContaining("no key is known");
        for (String text : List.of("", "{}", "{\"annals\":\"proved-export/2\"}", "notes\n", "[1]")) {
            assertThatThrownBy(() -> check(text.getBytes(UTF_8), 1, null)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void theLogHasToContinueAnOlderCheckpoint() throws Exception {
        for (int size : new int[] {0, 1, 255, 256, 257, 600}) {
            assertThat(check(file(), 1, checkpoint(records.subList(0, size))))
                    .as("%s", found)
                    .isZero();
        }
        List<String> before = new ArrayList<>(records);
        before.set(99, before.get(99).replace("\"action\":\"a\"", "\"action\":\"b\""));
        for (int size : new int[] {100, 256, 300, 600}) {
            check(file(), 1, checkpoint(before.subList(0, size)));
            assertThat(found).singleElement().asString().contains("does not continue that of " + size);
        }
        check(file(records.subList(0, 500), 0), 1, checkpoint(records));
        assertThat(found).singleElement().asString().contains("has 500 records, and had 600");
        assertThat(check(file(records, 300), 301, checkpoint(records.subList(0, 300))))
                .as("%s", found)
                .isZero();
        assertThatThrownBy(() -> check(file(records, 300), 301, checkpoint(records.subList(0, 200))))
                .hasMessageContaining("those from 301 on");
    }

    /** Every other history, complete and signed with the log's own key, is refused by who has seen the first one. */
    @Test
    void anOwnerOfTheKeyCannotRewriteRecordsOfAReadersCheckpoint() throws Exception {
        Checkpoint seen = checkpoint(records.subList(0, 500));
        for (int at : new int[] {0, 1, 255, 256, 300, 499}) {
            List<String> changed = new ArrayList<>(records);
            changed.set(at, changed.get(at).replace("\"action\":\"a\"", "\"action\":\"b\""));
            List<String> seededAnew = new ArrayList<>(records);
            seededAnew.set(at, seededAnew.get(at).replaceFirst("\"seed\":\"....", "\"seed\":\"AAAA"));
            List<String> without = new ArrayList<>(records);
            without.remove(at);
            List<String> inserted = new ArrayList<>(records);
            inserted.add(at, inserted.get(at).replace("\"action\":\"a\"", "\"action\":\"b\""));
            List<String> reordered = new ArrayList<>(records);
            Collections.swap(reordered, at, at + 1);
            for (List<String> forged : List.of(changed, seededAnew, without, inserted, reordered)) {
                List<String> file = file(numberedAnew(forged), 0);
                assertThat(check(file, 1, null))
                        .as("without a checkpoint: %s", found)
                        .isZero();
                check(file, 1, seen);
                assertThat(found).singleElement().asString().contains("does not continue that of 500");
            }
        }
    }

    private static List<String> numberedAnew(List<String> records) {
        return IntStream.range(0, records.size())
                .mapToObj(at -> records.get(at).replaceFirst("\"sequence_id\":[0-9]+", "\"sequence_id\":" + (at + 1)))
                .toList();
    }

    /**
     * Whatever byte of a file is another one, the file is refused. Every third is changed, by each bit in turn; or each by all of
     * them.
     */
    @Test
    void everyChangedByteIsNoticed() throws Exception {
        byte[] file = (String.join("\n", file(records.subList(0, 5), 0)) + "\n").getBytes(UTF_8);
        assertThat(check(file, 1, null)).as("%s", found).isZero();
        for (int at = 0; at < file.length - 1; at += Load.times(3, 1)) {
            int first = at % 7;
            for (int bit = Load.times(first, 0); bit < Load.times(first + 1, 7); bit++) {
                byte[] changed = file.clone();
                changed[at] ^= (byte) (1 << bit);
                assertThat(isRefused(changed))
                        .as("byte %d: %s", at, new String(changed, UTF_8))
                        .isTrue();
            }
        }
    }

    private boolean isRefused(byte[] file) throws IOException {
        try {
            return check(file, 1, null) > 0;
        } catch (IllegalArgumentException e) {
            return true;
        }
    }

    /** A record without the values of some fields, and with the salts of the others: its leaf is the same. */
    private static String redacted(String record, String... names) {
        ProvedRecord before = ProvedRecord.parse(record);
        Seed seed = Seed.of(new byte[Seed.BYTES]).ofRecord(before.record().sequenceId());
        ObjectNode salts = Json.mapper().createObjectNode();
        ObjectNode digests = Json.mapper().createObjectNode();
        String left = record;
        for (Map.Entry<String, String> field : before.record().fields().entrySet()) {
            String name = field.getKey();
            String salt = seed.salt(name);
            if (List.of(names).contains(name)) {
                digests.put(
                        name,
                        Hash.of("[\"" + salt + "\",\"" + name + "\"," + field.getValue() + "]")
                                .toBase64Url());
                String last = name.substring(name.indexOf('.') + 1);
                left = left.replaceFirst(
                        "\"" + last + "\":(\"[^\"]*\"|\\{[^}]*})(?=[,}])(?!,\"sequence_id)", "\"GONE\":0");
            } else {
                salts.put(name, salt);
            }
        }
        left = left.replace("{\"GONE\":0}", "{}").replace(",\"GONE\":0", "").replace("\"GONE\":0,", "");
        return left.replaceFirst("\"seed\":\"[^\"]*\"", "\"salts\":" + salts + ",\"redacted\":" + digests);
    }

    /** The record that a redaction appends. */
    private static String event(int n, int of, String recordId, String fields) {
        return "{\"id\":\"" + new UUID(7, n) + "\",\"sequence_id\":" + n
                + ",\"action\":\"annals.redact\",\"subject\":{\"type\":\"record\",\"id\":\"" + recordId + "\"},"
                + "\"outcome\":\"success\",\"message\":\"a reason\",\"recorded_by\":\"token:t\","
                + "\"timestamp\":\"2026-01-01T00:00:00Z\",\"recorded_at\":\"2026-01-01T00:00:01Z\","
                + "\"metadata\":{\"fields\":[" + fields + "],\"sequence_id\":" + of + "},\"seed\":\""
                + Seed.of(new byte[Seed.BYTES]).ofRecord(n) + "\"}";
    }

    private static final String BOTH = "\"actor.id\",\"metadata\"";

    private static String recordId(int n) {
        return new UUID(7, n).toString();
    }

    /** The log with record 100 redacted, and such records that say so. */
    private List<String> redactedLog(Map<Integer, String> events) {
        List<String> log = new ArrayList<>(records);
        events.forEach((at, event) -> log.set(at - 1, event));
        log.set(99, redacted(log.get(99), "actor.id", "metadata"));
        assertThat(leaves(log.subList(99, 100))).isEqualTo(leaves(records.subList(99, 100)));
        return log;
    }

    @Test
    void redactedValuesAreVerifiedWithTheRecordsOfTheirRedaction() throws Exception {
        for (Map<Integer, String> events : List.of(
                Map.of(400, event(400, 100, recordId(100), BOTH)),
                Map.of(101, event(101, 100, recordId(100), BOTH)),
                Map.of(600, event(600, 100, recordId(100), BOTH)),
                Map.of(400, event(400, 100, recordId(100), BOTH), 500, event(500, 100, recordId(100), BOTH)),
                Map.of(
                        400,
                        event(400, 100, recordId(100), "\"metadata\""),
                        500,
                        event(500, 100, recordId(100), "\"actor.id\"")))) {
            assertFinds(file(redactedLog(events), 0));
            ProvedFile file = new ProvedFile(
                    new ByteArrayInputStream(
                            String.join("\n", file(redactedLog(events), 0)).getBytes(UTF_8)),
                    List.of(key.verifier()),
                    1,
                    null,
                    found::add);
            assertThat(file.verify()).isZero();
            assertThat(file.redacted()).isEqualTo(2);
            assertThat(file.unnamed()).isZero();
        }
        List<String> itsReason = redactedLog(Map.of(
                400,
                redacted(event(400, 100, recordId(100), BOTH), "message"),
                500,
                event(500, 400, recordId(400), "\"message\"")));
        assertFinds(file(itsReason, 0));
        List<String> part = file(redactedLog(Map.of(400, event(400, 100, recordId(100), BOTH))), 256);
        assertThat(check(part, 257, null)).as("%s", found).isZero();
    }

    @Test
    void aValueThatIsTakenOutIsNamedUnlessTheLogSaysSo() throws Exception {
        String lacks = id(100) + "lacks its ";
        for (Map<Integer, String> events : List.of(
                Map.<Integer, String>of(),
                Map.of(400, event(400, 100, recordId(101), BOTH)),
                Map.of(400, event(400, 99, recordId(100), BOTH)),
                Map.of(99, event(99, 100, recordId(100), BOTH)),
                Map.of(400, event(400, 100, recordId(100), BOTH).replace("annals.redact", "annals.redacted")),
                Map.of(400, event(400, 100, recordId(100), BOTH).replace("\"record\"", "\"other\"")),
                Map.of(400, event(400, 100, recordId(100), BOTH).replace("\"recorded_by\":\"token:t\",", "")),
                Map.of(
                        400,
                        event(400, 100, recordId(100), BOTH).replace("\"sequence_id\":100", "\"sequence_id\":\"100\"")),
                Map.of(400, event(400, 100, recordId(100), "\"actor.id\",\"actor.id\",\"metadata\"")),
                Map.of(400, event(400, 100, recordId(100), BOTH + ",\"action\"")),
                Map.of(400, event(400, 100, recordId(100), "")))) {
            check(file(redactedLog(events), 0), 1, null);
            assertThat(found).as("%s", events).anyMatch(finding -> finding.contains(lacks + "actor.id, metadata"));
        }
        assertFinds(
                file(redactedLog(Map.of(400, event(400, 100, recordId(100), "\"metadata\""))), 0),
                lacks + "actor.id, and");
    }

    @Test
    void aRecordThatSaysThatMoreIsGoneThanIsIsNamed() throws Exception {
        assertFinds(
                file(redactedLog(Map.of(400, event(400, 100, recordId(100), BOTH + ",\"message\""))), 0),
                "has not lost its message");
        List<String> log = new ArrayList<>(records);
        log.set(399, event(400, 100, recordId(100), BOTH));
        assertFinds(file(log, 0), "has not lost its actor.id, metadata");
    }

    @Test
    void aFieldThatCannotBeRedactedIsNotAccepted() throws Exception {
        for (String field : List.of("action", "timestamp")) {
            List<String> log = new ArrayList<>(records);
            log.set(399, event(400, 100, recordId(100), "\"" + field + "\""));
            List<String> file = file(log, 0);
            file.set(line(100), redacted(records.get(99), field));
            check(file, 1, null);
            assertThat(found).anyMatch(finding -> finding.contains("cannot have redacted its field " + field));
        }
        for (String field : List.of("metadata", "subject.id", "recorded_by", "outcome")) {
            List<String> file = file(redactedLog(Map.of(400, event(400, 100, recordId(100), BOTH))), 0);
            file.set(line(400), redacted(event(400, 100, recordId(100), BOTH), field));
            check(file, 1, null);
            assertThat(found).anyMatch(finding -> finding.contains("cannot have redacted its field " + field));
        }
    }

    @Test
    void aFileThatEndsBeforeTheRecordThatSaysSoIsNotVerified() throws Exception {
        List<String> log = redactedLog(Map.of(400, event(400, 100, recordId(100), BOTH)));
        List<String> lines = file(log, 0);
        lines.set(
                0,
                Json.mapper()
                        .createObjectNode()
                        .put("annals", ProvedFile.ARCHIVE)
                        .put("project", "p")
                        .put("first_sequence_id", 1)
                        .put("last_sequence_id", 256)
                        .put(
                                "checkpoint",
                                SigningKey.sign(checkpoint(log), List.of(key)).toString())
                        .toString());
        Path file = Files.write(folder.resolve("archive"), lines.subList(0, line(256) + 1));
        CommandLine check = new CommandLine(new CheckCommand());
        check.setExecutionExceptionHandler((failure, command, parsed) -> {
            throw failure;
        });
        assertThat(check.execute(file.toString(), "--vkey=" + key.verifier())).isEqualTo(8);
        lines.set(0, lines.get(0).replace(":256,", ":512,"));
        Files.write(file, lines.subList(0, line(512) + 1));
        assertThat(check.execute(file.toString(), "--vkey=" + key.verifier())).isZero();

        List<String> alone = List.of(redacted(records.get(0), "metadata"));
        TlogProof proof = new TlogProof(
                alone.get(0),
                0,
                List.of(),
                SigningKey.sign(checkpoint(alone), List.of(key)).toString());
        Files.writeString(file, proof.toString());
        assertThat(check.execute(file.toString(), "--vkey=" + key.verifier())).isEqualTo(8);
    }
}
