package dev.annals.derived.log;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.places.Places;
import dev.annals.derived.proof.Tile;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.http.RequestParameters;
import dev.annals.kernel.http.Timestamps;
import dev.annals.proof.Hash;
import dev.annals.proof.VerifierKey;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The log of the token's project over HTTP: its description, checkpoints, tiles and entry bundles, and proofs of consistency. Clients of
 * C2SP tlog-tiles can read {@code log/{epoch}/}.
 */
@Path(LogResource.PATH)
public class LogResource {

    static final String PATH = "/v1/project-logs/log";

    private static final Sql READ_EPOCHS = Sql.named("derived/log/read_epochs");
    private static final String TEXT = "text/plain; charset=utf-8";
    /** Private, because a shared cache does not check tokens. */
    private static final String FOR_GOOD = "private, max-age=31536000, immutable";

    static final String WITNESSES = "witnesses";
    private static final int MOST_WITNESSES = 16;
    private static final Pattern COUNT = Pattern.compile("0|[1-9][0-9]?");
    private static final Pattern NUMBER = Pattern.compile("0|[1-9][0-9]{0,17}");
    private static final Pattern EPOCH = Pattern.compile("[1-9][0-9]{0,8}");

    private final Checkpoints checkpoints;
    private final LogKeys keys;
    private final Witnesses witnesses;
    private final Places places;

    LogResource(Checkpoints checkpoints, LogKeys keys, Witnesses witnesses, Places places) {
        this.checkpoints = checkpoints;
        this.keys = keys;
        this.witnesses = witnesses;
        this.places = places;
    }

    @GET
    @Requires(Scope.READ)
    public Uni<Response> describeLog(@Context UriInfo uri, @Context ContainerRequestContext request) {
        RequestParameters.requireKnown(uri.getQueryParameters(), List.of());
        UUID projectId = Caller.of(request).projectId();
        return places.on(
                projectId,
                database -> checkpoints
                        .newest(projectId)
                        .onFailure(ProblemException.class)
                        .recoverWithNull()
                        .chain(() -> LogState.read(database.reads(), projectId))
                        .chain(state -> epochs(projectId)
                                .chain(ended -> witnesses
                                        .of(projectId, state.epoch())
                                        .map(seen -> Response.ok(JsonBody.toBytes(
                                                        1024, json -> describe(projectId, state, ended, seen, json)))
                                                .type(MediaType.APPLICATION_JSON)
                                                .build()))));
    }

    private Uni<RowSet<Row>> epochs(UUID projectId) {
        return DatabaseFailure.retried(READ_EPOCHS
                .bind("project_id", projectId)
                .execute(places.of(projectId).reads()));
    }

    private void describe(
            UUID projectId, LogState state, RowSet<Row> ended, List<Witnesses.Seen> seen, JsonGenerator json)
            throws IOException {
        String halted = state.halted();
        json.writeStartObject();
        json.writeStringField("origin", keys.origin(projectId, state.epoch()));
        json.writeNumberField("epoch", state.epoch());
        json.writeStringField("state", !keys.any() ? "unsigned" : halted == null ? "signed" : "halted");
        if (halted != null) {
            json.writeStringField("reason", halted);
        }
        json.writeNumberField("size", state.signedSize());
        write("vkeys", checkpoints.verifiers(projectId, state.epoch()), json);
        write(seen, json);
        json.writeArrayFieldStart("epochs");
        for (Row row : ended) {
            int epoch = row.getInteger("epoch");
            json.writeStartObject();
            json.writeNumberField("epoch", epoch);
            json.writeStringField("origin", keys.origin(projectId, epoch));
            write("vkeys", checkpoints.verifiers(projectId, epoch), json);
            json.writeStringField("reason", row.getString("reason"));
            String checkpoint = row.getString("checkpoint");
            if (checkpoint != null) {
                json.writeStringField("checkpoint", checkpoint);
            }
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void write(List<Witnesses.Seen> witnesses, JsonGenerator json) throws IOException {
        json.writeArrayFieldStart("witnesses");
        for (Witnesses.Seen witness : witnesses) {
            json.writeStartObject();
            WitnessMemory.Entry entry = witness.entry();
            json.writeStringField("name", witness.witness().name());
            json.writeStringField("vkey", witness.witness().vkey());
            json.writeNumberField("size", entry.size());
            if (entry.cosignedAt() != null) {
                json.writeStringField("cosigned_at", Timestamps.format(entry.cosignedAt()));
            }
            if (entry.error() != null) {
                json.writeStringField("error", entry.error());
            }
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static void write(String name, List<VerifierKey> keys, JsonGenerator json) throws IOException {
        json.writeArrayFieldStart(name);
        for (VerifierKey key : keys) {
            json.writeString(key.toString());
        }
        json.writeEndArray();
    }

    /** The newest checkpoint that enough witnesses have cosigned; of an ended epoch, the last one. */
    @GET
    @Path("/{epoch}/checkpoint")
    @Requires(Scope.READ)
    public Uni<Response> getCheckpoint(
            @PathParam("epoch") String epoch, @Context UriInfo uri, @Context ContainerRequestContext request) {
        MultivaluedMap<String, String> parameters = uri.getQueryParameters();
        RequestParameters.requireKnown(parameters, List.of(WITNESSES));
        int needed = needed(parameters, witnesses);
        UUID projectId = Caller.of(request).projectId();
        int number = epoch(epoch);
        return places.on(
                projectId,
                database -> LogState.read(database.reads(), projectId).chain(state -> {
                    if (number > state.epoch()) {
                        throw noSuchEpoch();
                    }
                    return number == state.epoch()
                            ? checkpoints
                                    .witnessed(projectId, number, needed)
                                    .map(log ->
                                            Response.ok(log.note()).type(TEXT).build())
                            : epochs(projectId)
                                    .map(ended -> Response.ok(lastOf(number, ended))
                                            .type(TEXT)
                                            .header(
                                                    HttpHeaders.LINK,
                                                    "<" + PATH + "/" + state.epoch()
                                                            + "/checkpoint>; rel=\"successor-version\"")
                                            .build());
                }));
    }

    /** The number of cosignatures that a request asks for, or the setting's. */
    static int needed(MultivaluedMap<String, String> parameters, Witnesses witnesses) {
        String text = parameters.getFirst(WITNESSES);
        if (text == null) {
            return witnesses.needed();
        }
        if (!COUNT.matcher(text).matches() || Integer.parseInt(text) > MOST_WITNESSES) {
            throw RequestParameters.invalid(
                    WITNESSES,
                    "It is the number of witnesses that must have cosigned, from 0 to " + MOST_WITNESSES + ".");
        }
        return Integer.parseInt(text);
    }

    private static String lastOf(int epoch, RowSet<Row> ended) {
        for (Row row : ended) {
            String checkpoint = row.getString("checkpoint");
            if (row.getInteger("epoch") == epoch && checkpoint != null) {
                return checkpoint;
            }
        }
        throw noSuchEpoch();
    }

    @GET
    @Path("/{epoch}/tile/{level}/{tile: .+}")
    @Requires(Scope.READ)
    public Uni<Response> getLogTile(
            @PathParam("epoch") String epoch,
            @PathParam("level") String level,
            @PathParam("tile") String tile,
            @Context ContainerRequestContext request) {
        boolean entries = level.equals("entries");
        Tile wanted =
                !entries && !level.matches("[0-7]") ? null : Tile.parse(entries ? 0 : Integer.parseInt(level), tile);
        if (wanted == null) {
            throw noSuchTile();
        }
        UUID projectId = Caller.of(request).projectId();
        int number = epoch(epoch);
        return places.on(
                projectId,
                database -> checkpoints
                        .withAtLeast(projectId, wanted.treeSize())
                        .chain(log -> requireTile(log, number, wanted).chain(() -> tile(log, wanted, entries))));
    }

    /** An ended log shares the tiles of the present one, if the present tree begins with it. */
    private Uni<Void> requireTile(SignedLog log, int epoch, Tile wanted) {
        if (epoch == log.epoch()) {
            return Uni.createFrom().voidItem();
        }
        return epochs(log.projectId())
                .chain(ended -> checkpoints.ended(log, epoch, lastOf(epoch, ended)))
                .invoke(ended -> {
                    if (ended == null || wanted.treeSize() > ended.size()) {
                        throw noSuchEpoch();
                    }
                })
                .replaceWithVoid();
    }

    private Uni<Response> tile(SignedLog log, Tile wanted, boolean entries) {
        UUID projectId = log.projectId();
        TreeReader tree = checkpoints.tree(projectId);
        return checkpoints
                .haltIfDamaged(log, entries ? tree.bundle(wanted) : tree.tile(wanted))
                .map(hashes -> Response.ok(bytes(hashes, entries))
                        .type(MediaType.APPLICATION_OCTET_STREAM)
                        .header(HttpHeaders.CACHE_CONTROL, FOR_GOOD)
                        .build());
    }

    private static byte[] bytes(List<Hash> hashes, boolean entries) {
        ByteBuffer bytes = ByteBuffer.allocate(hashes.size() * (Hash.BYTES + (entries ? Short.BYTES : 0)));
        for (Hash hash : hashes) {
            if (entries) {
                bytes.putShort((short) Hash.BYTES);
            }
            bytes.put(hash.bytes());
        }
        return bytes.array();
    }

    @GET
    @Path("/consistency")
    @Requires(Scope.READ)
    public Uni<Response> proveConsistency(@Context UriInfo uri, @Context ContainerRequestContext request) {
        UUID projectId = Caller.of(request).projectId();
        MultivaluedMap<String, String> parameters = uri.getQueryParameters();
        RequestParameters.requireKnown(parameters, List.of("from", "to"));
        long from = size("from", parameters.getFirst("from"));
        long to = size("to", parameters.getFirst("to"));
        if (from > to) {
            throw RequestParameters.invalid("from", "It is " + to + " or less, the size to which it is compared.");
        }
        return places.on(
                projectId,
                database -> checkpoints
                        .at(projectId, to)
                        .chain(log -> checkpoints
                                .haltIfDamaged(log, checkpoints.tree(projectId).consistency(from, log.checkpoint()))
                                .map(consistency -> Response.ok(JsonBody.toBytes(2048, json -> {
                                            json.writeStartObject();
                                            json.writeNumberField("from", from);
                                            json.writeNumberField("to", to);
                                            json.writeArrayFieldStart("hashes");
                                            for (Hash hash : consistency.proof()) {
                                                json.writeString(hash.toString());
                                            }
                                            json.writeEndArray();
                                            json.writeStringField("checkpoint", log.note());
                                            json.writeEndObject();
                                        }))
                                        .type(MediaType.APPLICATION_JSON)
                                        .build())));
    }

    private static long size(String name, @Nullable String text) {
        if (text == null || !NUMBER.matcher(text).matches()) {
            throw RequestParameters.invalid(name, "It is the size of a checkpoint: the number of records in the log.");
        }
        return Long.parseLong(text);
    }

    private static int epoch(String text) {
        if (!EPOCH.matcher(text).matches()) {
            throw noSuchEpoch();
        }
        return Integer.parseInt(text);
    }

    private static ProblemException noSuchEpoch() {
        return new ProblemException(
                ProblemType.NOT_FOUND, "The log has no such epoch, or the epoch no such tile: see GET " + PATH + ".");
    }

    private static ProblemException noSuchTile() {
        return new ProblemException(
                ProblemType.NOT_FOUND,
                "This is not the address of a tile: it looks like tile/0/x001/067 or tile/entries/000.p/17, as in"
                        + " https://c2sp.org/tlog-tiles.");
    }
}
