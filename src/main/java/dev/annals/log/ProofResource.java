package dev.annals.log;

import dev.annals.database.DatabaseFailure;
import dev.annals.feed.FeedLinks;
import dev.annals.feed.FeedQuery;
import dev.annals.feed.FeedReader;
import dev.annals.feed.PageAnswers;
import dev.annals.http.JsonBody;
import dev.annals.http.RequestParameters;
import dev.annals.project.Caller;
import dev.annals.project.Requires;
import dev.annals.proof.Hash;
import dev.annals.proof.MerkleTree;
import dev.annals.proof.ProvedRecord;
import dev.annals.proof.Seed;
import dev.annals.proof.Tile;
import dev.annals.proof.TlogProof;
import dev.annals.record.RecordEncoder;
import dev.annals.record.StoredRecord;
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
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** That a record is in the log, over HTTP: {@code GET /v1/project-logs/{id}/proof}. */
@Path(FeedLinks.PATH + "/{id}/proof")
public class ProofResource {

    private static final String TEXT = "text/plain; charset=utf-8";

    private final FeedReader reader;
    private final PageAnswers answers;
    private final Checkpoints checkpoints;

    ProofResource(FeedReader reader, PageAnswers answers, Checkpoints checkpoints) {
        this.reader = reader;
        this.answers = answers;
        this.checkpoints = checkpoints;
    }

    /** The proof of one record of the token's project, with the record and what recomputes its leaf. */
    @GET
    @Requires.Read
    public Uni<Response> prove(
            @Context HttpServerRequest http,
            @Context UriInfo uri,
            @PathParam("id") String id,
            @Context ContainerRequestContext request) {
        RequestParameters.requireKnown(uri.getQueryParameters(), List.of());
        UUID projectId = Caller.of(request).projectId();
        // base64 of the record, and the text that it is part of
        return answers.within(
                projectId,
                4L * FeedQuery.LARGEST_RECORD,
                held -> reader.require(projectId, id)
                        .chain(record -> prove(projectId, record))
                        .map(proof ->
                                answers.body(http, proof.toString().getBytes(StandardCharsets.UTF_8), TEXT, held)));
    }

    private Uni<TlogProof> prove(UUID projectId, StoredRecord record) {
        long index = record.sequenceId() - 1;
        long tile = index / Tile.WIDTH;
        return checkpoints.withAtLeast(projectId, record.sequenceId()).chain(log -> {
            TreeReader tree = checkpoints.tree(projectId);
            Uni<TlogProof> proof = DatabaseFailure.retried(tree.seeds(tile, tile))
                    .chain(seeds -> DatabaseFailure.retried(
                                    tree.hashes(MerkleTree.inclusion(index, log.size()), log.size()))
                            .map(path -> proof(record, seeds, path, log)));
            return checkpoints.guarded(log, proof);
        });
    }

    private static TlogProof proof(StoredRecord record, Map<Long, Seed> seeds, List<Hash> path, SignedLog log) {
        long index = record.sequenceId() - 1;
        if (!seeds.containsKey(index / Tile.WIDTH)) {
            throw new DamagedLog("the seed of record " + record.record().id() + " is missing");
        }
        String json = encoded(record, seeds);
        if (!MerkleTree.includes(
                ProvedRecord.parse(json).entry().leaf(),
                index,
                log.size(),
                path,
                log.checkpoint().root())) {
            throw new DamagedLog("record " + record.record().id() + " with the sequence id " + record.sequenceId()
                    + " is not the one that was taken into the tree");
        }
        return new TlogProof(json, index, path, log.note());
    }

    private static String encoded(StoredRecord record, Map<Long, Seed> seeds) {
        RecordEncoder.Format format = ProvedPages.withSeeds(seeds);
        return new String(JsonBody.toBytes(1024, json -> format.write(record, json)), StandardCharsets.UTF_8);
    }
}
