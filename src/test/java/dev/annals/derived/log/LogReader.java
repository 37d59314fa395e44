package dev.annals.derived.log;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.Hash;
import dev.annals.proof.MerkleTree;
import dev.annals.proof.PageProof;
import dev.annals.proof.ProvedRecord;
import dev.annals.proof.TlogProof;
import dev.annals.proof.VerifierKey;
import io.restassured.RestAssured;
import io.restassured.response.Response;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A reader that trusts only a key and the last checkpoint that it saw, and verifies all answers of the service against them.
 */
public final class LogReader {

    /** Keeps the digits of numbers. */
    private static final ObjectMapper JSON = JsonMapper.builder(JsonFactory.builder()
                    .streamReadConstraints(StreamReadConstraints.builder()
                            .maxNumberLength(Integer.MAX_VALUE)
                            .maxNestingDepth(1_000)
                            .build())
                    .build())
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
            .enable(StreamWriteFeature.WRITE_BIGDECIMAL_AS_PLAIN)
            .build();

    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    private final Project project;
    private final List<VerifierKey> keys = new ArrayList<>();
    private final String log;
    private @Nullable Checkpoint seen;

    /** Learns the log's key, and keeps it. */
    public LogReader(Project project) {
        this.project = project;
        JsonNode described = readJson(AuditLogFixture.LOGS + "/log");
        described.get("vkeys").forEach(key -> keys.add(VerifierKey.parse(key.textValue())));
        this.log = AuditLogFixture.LOGS + "/log/" + described.get("epoch");
    }

    Response get(String path) {
        return project.wrongRequest().get(path);
    }

    /**
     * As the method above, without the comparison with the contract, which takes much longer than the request.
     */
    private byte[] read(String path, String type) {
        URI service = URI.create(RestAssured.baseURI + ":" + RestAssured.port);
        HttpRequest request = HttpRequest.newBuilder(service.resolve(path))
                .header("Authorization", "Bearer " + project.token())
                .build();
        try {
            HttpResponse<byte[]> answer = CLIENT.send(request, HttpResponse.BodyHandlers.ofByteArray());
            assertThat(answer.statusCode())
                    .as("%s: %s", path, new String(answer.body(), StandardCharsets.UTF_8))
                    .isEqualTo(200);
            assertThat(answer.headers().firstValue("Content-Type").orElse("")).startsWith(type);
            return answer.body();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private JsonNode readJson(String path) {
        return json(read(path, "application/json"));
    }

    private static JsonNode json(byte[] answer) {
        try {
            return JSON.readTree(answer);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Reads the newest checkpoint, and verifies that it continues the last one. */
    public Checkpoint next() {
        byte[] note = read(log + "/checkpoint", "text/plain; charset=utf-8");
        Checkpoint checkpoint = Checkpoint.open(new String(note, StandardCharsets.UTF_8), keys);
        if (seen != null) {
            requireContinued(seen, checkpoint);
        }
        seen = checkpoint;
        return checkpoint;
    }

    private void requireContinued(Checkpoint before, Checkpoint after) {
        if (before.equals(after)) {
            return;
        }
        JsonNode proof =
                readJson(AuditLogFixture.LOGS + "/log/consistency?from=" + before.size() + "&to=" + after.size());
        if (!MerkleTree.isConsistent(
                before.size(), before.root(), after.size(), after.root(), hashes(proof.get("hashes")))) {
            throw new IllegalArgumentException(
                    "the log of " + after.size() + " records does not continue that of " + before.size());
        }
    }

    private static List<Hash> hashes(JsonNode array) {
        List<Hash> hashes = new ArrayList<>();
        array.forEach(hash -> hashes.add(Hash.parse(hash.textValue())));
        return hashes;
    }

    /** Reads and verifies the proof of a record. */
    public ProvedRecord prove(String id) {
        Response answer = get(AuditLogFixture.LOGS + "/" + id + "/proof");
        answer.then().statusCode(200).header("Content-Type", "text/plain; charset=utf-8");
        return TlogProof.parse(answer.asString()).verify(keys);
    }

    /** Reads all records up to a checkpoint, and verifies each page. */
    public List<ProvedRecord> walk(Checkpoint pinned, int limit) {
        return walkLeft(pinned, limit, 0);
    }

    /** Reads and verifies the records after the first {@code expired} ones. */
    public List<ProvedRecord> walkLeft(Checkpoint pinned, int limit, long expired) {
        List<ProvedRecord> all = new ArrayList<>();
        String next = AuditLogFixture.LOGS + "?limit=" + limit + "&proof=" + pinned.size();
        while (next != null) {
            JsonNode page = readJson(next);
            List<ProvedRecord> records = records(page);
            JsonNode proof = page.get("proof");
            assertThat(Checkpoint.open(proof.get("checkpoint").textValue(), keys))
                    .isEqualTo(pinned);
            assertThat(proof.get("start").longValue()).isEqualTo(expired + all.size());
            new PageProof(
                            proof.get("start").longValue(),
                            proof.get("end").longValue(),
                            hashes(proof.get("left")),
                            hashes(proof.get("right")))
                    .verify(records, pinned);
            all.addAll(records);
            next = page.get("next").textValue();
        }
        return all;
    }

    /** The text of a page's records: parsed numbers would lose digits that are hashed. */
    private static List<ProvedRecord> records(JsonNode page) {
        List<ProvedRecord> records = new ArrayList<>();
        for (JsonNode record : page.get("results")) {
            records.add(ProvedRecord.parse(text(record)));
        }
        return records;
    }

    private static String text(JsonNode record) {
        try {
            return JSON.writeValueAsString(record);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The prefix of URLs for clients of tlog-tiles. */
    String prefix() {
        return log;
    }

    /** Reads a resource of tlog-tiles. */
    public String prefixed(String path) {
        return log + "/" + path;
    }
}
