package dev.annals.proof;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.BesideTheService;
import dev.annals.derived.proof.MasterKey;
import dev.annals.derived.proof.SigningKey;
import dev.annals.derived.proof.Tile;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The vectors of docs/leaf-format.md, made by another program in another language. */
@BesideTheService
class LeafFormatTest {

    private static final JsonNode VECTORS = vectors();

    private static JsonNode vectors() {
        try (InputStream file = LeafFormatTest.class.getResourceAsStream("leaf-vectors.json")) {
            return new ObjectMapper().readTree(file);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String text(JsonNode of, String name) {
        return of.get(name).textValue();
    }

    private static Hash hash(JsonNode hex) {
        return Hash.at(HexFormat.of().parseHex(hex.textValue()), 0);
    }

    private static List<Hash> hashes(JsonNode array) {
        List<Hash> hashes = new ArrayList<>();
        array.forEach(hex -> hashes.add(hash(hex)));
        return hashes;
    }

    private static List<Hash> leaves() {
        List<Hash> leaves = new ArrayList<>();
        VECTORS.get("records").forEach(record -> leaves.add(hash(record.get("leaf"))));
        return leaves;
    }

    private static List<VerifierKey> keys() {
        return List.of(VerifierKey.parse(text(VECTORS.get("log"), "vkey")));
    }

    @Test
    void jsonHasOneCanonicalText() {
        for (JsonNode vector : VECTORS.get("canonical")) {
            assertThat(CanonicalJson.of(text(vector, "json"))).isEqualTo(text(vector, "canonical"));
            assertThat(CanonicalJson.of(text(vector, "canonical"))).isEqualTo(text(vector, "canonical"));
        }
    }

    @Test
    void jsonWithoutACanonicalTextIsRefused() {
        for (JsonNode json : VECTORS.get("refused")) {
            assertThatThrownBy(() -> CanonicalJson.of(json.textValue()))
                    .as(json.textValue())
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void theLeafOfARecordFollowsFromTheRecordAndItsSeed() {
        Seed tile = Seed.of(HexFormat.of().parseHex(text(VECTORS, "tile_seed")));
        for (JsonNode vector : VECTORS.get("records")) {
            LeafRecord record = LeafRecord.parse(text(vector, "record"));
            Seed seed = tile.ofRecord(record.sequenceId());
            assertThat(seed.toString()).isEqualTo(text(vector, "seed"));
            if (vector.has("fields")) {
                assertThat(record.fields().keySet())
                        .containsExactlyElementsOf(() -> vector.get("fields").fieldNames());
                record.fields().forEach((name, value) -> {
                    JsonNode field = vector.get("fields").get(name);
                    assertThat(seed.salt(name)).isEqualTo(text(field, "salt"));
                    assertThat(LeafRecord.digest(seed.salt(name), name, value).toBase64Url())
                            .isEqualTo(text(field, "digest"));
                });
            }
            assertThat(record.entry(seed)).isEqualTo(hash(vector.get("entry")));
            assertThat(record.entry(seed).leaf()).isEqualTo(hash(vector.get("leaf")));
        }
    }

    @Test
    void aRedactedRecordHasTheEntryThatItHadBefore() {
        JsonNode redacted = VECTORS.get("redacted");
        assertThat(ProvedRecord.parse(text(redacted, "record")).entry()).isEqualTo(hash(redacted.get("entry")));
    }

    @Test
    void aRecordWithAFieldThatNoLeafCoversIsRefused() {
        String record = text(VECTORS.get("records").get(0), "record");
        for (String more : List.of("\"colour\": 1", "\"actor\": {\"role\": \"x\"}", "\"seed\": \"x\"")) {
            assertThatThrownBy(() -> LeafRecord.parse(
                            record.replace("}}", "}, " + more + "}").replace("{}}", "{}")))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> LeafRecord.parse("{" + more + ", " + record.substring(1)))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void treesHaveTheseRoots() {
        CompactRange tree = CompactRange.at(0);
        List<Hash> leaves = leaves();
        for (JsonNode vector : VECTORS.get("roots")) {
            assertThat(tree.end()).isEqualTo(vector.get("size").longValue());
            assertThat(tree.root()).isEqualTo(hash(vector.get("root")));
            if (tree.end() < leaves.size()) {
                tree.append(leaves.get((int) tree.end()));
            }
        }
    }

    @Test
    void proofsHaveThesePaths() {
        TestTree tree = new TestTree(leaves());
        for (JsonNode vector : VECTORS.get("inclusion")) {
            assertThat(tree.hashes(MerkleTree.inclusion(
                            vector.get("index").longValue(), vector.get("size").longValue())))
                    .isEqualTo(hashes(vector.get("path")));
        }
        for (JsonNode vector : VECTORS.get("consistency")) {
            assertThat(tree.hashes(MerkleTree.consistency(
                            vector.get("from").longValue(), vector.get("to").longValue())))
                    .isEqualTo(hashes(vector.get("path")));
        }
    }

    @Test
    void aPageIsProvedByTheRangesAroundIt() {
        JsonNode page = VECTORS.get("page");
        long start = page.get("start").longValue();
        long end = page.get("end").longValue();
        List<ProvedRecord> records = new ArrayList<>();
        for (long index = start; index < end; index++) {
            records.add(proved((int) index));
        }
        Checkpoint checkpoint = Checkpoint.open(text(VECTORS.get("log"), "checkpoint"), keys());
        PageProof proof = new PageProof(start, end, hashes(page.get("left")), hashes(page.get("right")));
        proof.verify(records, checkpoint);

        records.set(1, proved(2));
        assertThatThrownBy(() -> proof.verify(records, checkpoint)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> proof.verify(records.subList(1, records.size()), checkpoint))
                .isInstanceOf(IllegalArgumentException.class);
    }

    private static ProvedRecord proved(int index) {
        JsonNode vector = VECTORS.get("records").get(index);
        String record = text(vector, "record");
        return ProvedRecord.parse(
                record.substring(0, record.length() - 1) + ", \"seed\": \"" + text(vector, "seed") + "\"}");
    }

    @Test
    void theKeyOfALogFollowsFromTheMasterKeyAndItsOrigin() {
        JsonNode log = VECTORS.get("log");
        SigningKey key = MasterKey.parse(text(log, "master_key")).of(text(log, "origin"));
        assertThat(key.verifier()).hasToString(text(log, "vkey"));
        Checkpoint checkpoint = Checkpoint.open(text(log, "checkpoint"), keys());
        assertThat(checkpoint.origin()).isEqualTo(text(log, "origin"));
        // Ed25519 is deterministic.
        assertThat(SigningKey.sign(checkpoint, List.of(key))).hasToString(text(log, "checkpoint"));
    }

    @Test
    void aProofIsSelfContained() {
        String text = text(VECTORS.get("log"), "proof");
        TlogProof proof = TlogProof.parse(text);
        assertThat(proof).hasToString(text);
        assertThat(proof.verify(keys()).record().sequenceId()).isEqualTo(2);

        TlogProof changed = new TlogProof(
                proof.record().replace("success", "failure"), proof.index(), proof.path(), proof.checkpoint());
        assertThatThrownBy(() -> changed.verify(keys())).hasMessageContaining("does not have record");
        TlogProof moved = new TlogProof(proof.record(), 2, proof.path(), proof.checkpoint());
        assertThatThrownBy(() -> moved.verify(keys())).hasMessageContaining("sequence id");
        TlogProof forged = new TlogProof(
                proof.record(), 1, proof.path(), proof.checkpoint().replace("\n13\n", "\n14\n"));
        assertThatThrownBy(() -> forged.verify(keys())).hasMessageContaining("does not hold");
    }

    @Test
    void tilesHaveTheseAddresses() {
        for (JsonNode vector : VECTORS.get("tiles")) {
            long index = vector.get("index").longValue();
            String path = text(vector, "path");
            assertThat(new Tile(1, index, Tile.WIDTH).path()).isEqualTo(path);
            assertThat(Tile.parse(1, path)).isEqualTo(new Tile(1, index, Tile.WIDTH));
            assertThat(Tile.parse(1, path + ".p/17")).isEqualTo(new Tile(1, index, 17));
        }
        for (String none : List.of("1", "x000/001", "x001/67", "001.p/0", "001.p/256", "001.p/01", "000/001", "")) {
            assertThat(Tile.parse(0, none)).as(none).isNull();
        }
        assertThat(Tile.parse(8, "000")).isNull();
        assertThat(Tile.parse(7, "127")).isNull();
    }
}
