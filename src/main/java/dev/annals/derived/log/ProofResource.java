package dev.annals.derived.log;

import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.places.Places;
import dev.annals.core.feed.DatabaseReader;
import dev.annals.core.feed.FeedLinks;
import dev.annals.core.feed.FeedQuery;
import dev.annals.core.feed.PageAnswers;
import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.StoredRecord;
import dev.annals.derived.proof.Tile;
import dev.annals.derived.proof.TileSeed;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.RequestParameters;
import dev.annals.proof.Hash;
import dev.annals.proof.MerkleTree;
import dev.annals.proof.ProvedRecord;
import dev.annals.proof.TlogProof;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Proofs that a record is in the log, over HTTP: {@code GET /v1/project-logs/{id}/proof}. */
@Path(FeedLinks.PATH + "/{id}/proof")
public class ProofResource {

    private static final String TEXT = "text/plain; charset=utf-8";

    private final Places places;
    private final DatabaseReader.Placed reader;
    private final PageAnswers answers;
    private final Checkpoints checkpoints;
    private final Witnesses witnesses;

    ProofResource(
            Places places,
            DatabaseReader.Placed reader,
            PageAnswers answers,
            Checkpoints checkpoints,
            Witnesses witnesses) {
        this.places = places;
        this.reader = reader;
        this.answers = answers;
        this.checkpoints = checkpoints;
        this.witnesses = witnesses;
    }

    /** The proof contains the record, and its seed or salts to compute the leaf. */
    @GET
    @Requires(Scope.READ)
    public Uni<Response> proveProjectLog(
            @Context HttpServerRequest http,
            @Context UriInfo uri,
            @PathParam("id") String id,
            @Context ContainerRequestContext request) {
        RequestParameters.requireKnown(uri.getQueryParameters(), List.of(LogResource.WITNESSES));
        int needed = LogResource.needed(uri.getQueryParameters(), witnesses);
        UUID projectId = Caller.of(request).projectId();
        // the record in base64, and the text around it
        return answers.within(
                projectId,
                4L * FeedQuery.LARGEST_RECORD,
                held -> places.on(
                                projectId,
                                database ->
                                        reader.require(projectId, id).chain(record -> prove(projectId, record, needed)))
                        .map(proof ->
                                answers.body(http, proof.toString().getBytes(StandardCharsets.UTF_8), TEXT, held)));
    }

    private Uni<TlogProof> prove(UUID projectId, StoredRecord record, int needed) {
        long index = record.sequenceId() - 1;
        long tile = index / Tile.WIDTH;
        return checkpoints
                .witnessedWithAtLeast(projectId, record.sequenceId(), needed)
                .chain(log -> {
                    TreeReader tree = checkpoints.tree(projectId);
                    Uni<TlogProof> proof = tree.seeds(tile, tile)
                            .chain(seeds -> asOf(seeds, projectId, record)
                                    .chain(found -> tree.hashes(parts(index, log.size()), log.size())
                                            .map(hashes -> proof(
                                                    found,
                                                    seeds,
                                                    hashes.subList(1, hashes.size()),
                                                    hashes.get(0),
                                                    log))));
                    return checkpoints.haltIfDamaged(log, proof);
                });
    }

    /** The leaf, and its inclusion proof. */
    private static List<MerkleTree.Part> parts(long index, long size) {
        List<MerkleTree.Part> parts = new ArrayList<>();
        parts.add(new MerkleTree.Part(index, index + 1));
        parts.addAll(MerkleTree.inclusion(index, size));
        return parts;
    }

    /** Reads the record again if it was redacted after it was read: its seed is then deleted. */
    private Uni<StoredRecord> asOf(Map<Long, TileSeed> seeds, UUID projectId, StoredRecord record) {
        return hasSeed(record, seeds)
                ? Uni.createFrom().item(record)
                : reader.require(projectId, record.record().id().toString());
    }

    private static boolean hasSeed(StoredRecord record, Map<Long, TileSeed> seeds) {
        TileSeed seed = seeds.get((record.sequenceId() - 1) / Tile.WIDTH);
        return seed != null && seed.ofRecord(record.sequenceId()) != null;
    }

    private static TlogProof proof(
            StoredRecord record, Map<Long, TileSeed> seeds, List<Hash> path, Hash taken, SignedLog log) {
        long index = record.sequenceId() - 1;
        if (record.redaction() == null && !hasSeed(record, seeds)) {
            throw new DamagedLog("the seed of record " + record.record().id() + " is missing");
        }
        String json = encoded(record, seeds);
        if (!isIncluded(json, index, path, log)) {
            Hash leaf = leaf(json);
            boolean isStored = (index / Tile.WIDTH + 1) * Tile.WIDTH <= log.size();
            if (leaf != null && isStored && taken.equals(leaf)) {
                throw new DamagedLog("the stored hashes of the tree of " + log.size()
                        + " records do not lead from record " + record.sequenceId()
                        + ", which is unchanged, to the signed root: a tile was changed");
            }
            throw new DamagedLog("record " + record.record().id() + " with the sequence id " + record.sequenceId()
                    + " is not the one that was taken into the tree");
        }
        return new TlogProof(json, index, path, log.note());
    }

    private static boolean isIncluded(String json, long index, List<Hash> path, SignedLog log) {
        Hash leaf = leaf(json);
        return leaf != null
                && MerkleTree.includes(
                        leaf, index, log.size(), path, log.checkpoint().root());
    }

    private static @Nullable Hash leaf(String json) {
        try {
            return ProvedRecord.parse(json).entry().leaf();
        } catch (IllegalArgumentException e) {
            return null; // salts or digests that no redaction makes
        }
    }

    private static String encoded(StoredRecord record, Map<Long, TileSeed> seeds) {
        RecordEncoder.Format format = ProvedPages.withSeeds(seeds);
        return new String(JsonBody.toBytes(1024, json -> format.write(record, json)), StandardCharsets.UTF_8);
    }
}
