package dev.annals.derived.log;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.access.places.Places;
import dev.annals.core.feed.Cursor;
import dev.annals.core.feed.DatabaseReader;
import dev.annals.core.feed.FeedPage;
import dev.annals.core.feed.FeedQuery;
import dev.annals.core.feed.FeedReader.PageProver;
import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.StoredRecord.Redaction;
import dev.annals.derived.proof.Tile;
import dev.annals.derived.proof.TileSeed;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.http.RequestParameters;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Hash;
import dev.annals.proof.Node;
import dev.annals.proof.PageProof;
import dev.annals.proof.Seed;
import io.smallrye.mutiny.Uni;
import jakarta.enterprise.context.ApplicationScoped;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;

/** Proves a page by the ranges of the tree before and after it. */
@ApplicationScoped
public class ProvedPages implements PageProver {

    private final Places places;
    private final DatabaseReader.Placed reader;
    private final Checkpoints checkpoints;

    ProvedPages(Places places, DatabaseReader.Placed reader, Checkpoints checkpoints) {
        this.places = places;
        this.reader = reader;
        this.checkpoints = checkpoints;
    }

    @Override
    public Uni<Proved> read(UUID projectId, FeedQuery query, long size) {
        Cursor cursor = query.cursor();
        if (cursor == null) {
            return reader.oldest(projectId).chain(oldest -> read(projectId, query, oldest, size));
        }
        return read(projectId, query, cursor, size);
    }

    private Uni<Proved> read(UUID projectId, FeedQuery query, Cursor cursor, long size) {
        if (cursor.sequenceId() > size) {
            throw RequestParameters.invalid(
                    FeedQuery.PROOF,
                    "The cursor is behind record " + size + ", the last one of this checkpoint: take a newer one.");
        }
        return places.on(
                projectId,
                database -> checkpoints
                        .at(projectId, size)
                        .chain(log -> page(projectId, query.from(cursor), cursor, size)
                                .chain(page -> prove(log, cursor.sequenceId(), page))));
    }

    private Uni<FeedPage> page(UUID projectId, FeedQuery query, Cursor cursor, long size) {
        long start = cursor.sequenceId();
        int limit = (int) Math.min(query.limit(), size - start);
        if (limit == 0) {
            // The read checks the cursor.
            return reader.read(projectId, query.withLimit(1)).map(page -> new FeedPage(List.of(), null, null, cursor));
        }
        return DatabaseFailure.retried(
                        checkpoints.tree(projectId).seeds(start / Tile.WIDTH, (start + limit - 1) / Tile.WIDTH))
                .chain(seeds -> reader.read(projectId, query.withLimit(limit).as(withSeeds(seeds))))
                .map(page -> page.pollMore().sequenceId() < size
                        ? page
                        : new FeedPage(page.records(), null, null, page.pollMore()));
    }

    /**
     * Adds the seed of each record, or, of a redacted one, the salts of its remaining fields.
     *
     * @param seeds by tile; read before the records, because a redaction deletes the seed
     */
    static RecordEncoder.Format withSeeds(Map<Long, TileSeed> seeds) {
        return (record, json) -> {
            json.writeStartObject();
            RecordEncoder.fields(record, json);
            TileSeed tile = seeds.get((record.sequenceId() - 1) / Tile.WIDTH);
            Redaction redaction = record.redaction();
            Seed seed = tile == null || redaction != null ? null : tile.ofRecord(record.sequenceId());
            if (seed != null) {
                json.writeStringField("seed", seed.toString());
            } else if (redaction != null) {
                redaction.writeSalts(json);
            }
            json.writeEndObject();
        };
    }

    private Uni<Proved> prove(SignedLog log, long start, FeedPage page) {
        long end = start + page.records().size();
        List<Node> nodes = new ArrayList<>(Node.covering(0, start));
        nodes.addAll(Node.covering(start, end));
        nodes.addAll(Node.covering(end, log.size()));
        TreeReader tree = checkpoints.tree(log.projectId());
        return checkpoints
                .haltIfDamaged(log, tree.nodes(nodes, log.size()).map(hashes -> {
                    CompactRange left = range(0, start, hashes);
                    CompactRange right = range(end, log.size(), hashes);
                    CompactRange whole = range(0, start, hashes);
                    whole.append(range(start, end, hashes));
                    whole.append(right);
                    if (!whole.root().equals(log.checkpoint().root())) {
                        throw new DamagedLog("the tree of " + log.size() + " records has another root");
                    }
                    return new PageProof(start, end, left.hashes(), right.hashes());
                }))
                .map(proof -> new Proved(page, json -> write(log.note(), proof, json)));
    }

    private static void write(String checkpoint, PageProof proof, JsonGenerator json) throws IOException {
        json.writeObjectFieldStart("proof");
        json.writeStringField("checkpoint", checkpoint);
        json.writeNumberField("start", proof.start());
        json.writeNumberField("end", proof.end());
        write("left", proof.left(), json);
        write("right", proof.right(), json);
        json.writeEndObject();
    }

    private static void write(String name, List<Hash> hashes, JsonGenerator json) throws IOException {
        json.writeArrayFieldStart(name);
        for (Hash hash : hashes) {
            json.writeString(hash.toString());
        }
        json.writeEndArray();
    }

    private static CompactRange range(long start, long end, Function<Node, Hash> hashes) {
        return CompactRange.of(
                start, end, Node.covering(start, end).stream().map(hashes).toList());
    }
}
