package dev.annals.derived.redaction;

import dev.annals.access.places.Places;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.RecordRow;
import dev.annals.core.record.StoredRecord;
import dev.annals.core.record.StoredRecord.Redaction;
import dev.annals.derived.projection.ProjectionSteps;
import dev.annals.derived.proof.Tile;
import dev.annals.derived.proof.TileSeed;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.proof.Hash;
import dev.annals.proof.LeafRecord;
import dev.annals.proof.Seed;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;
import io.vertx.mutiny.sqlclient.SqlConnection;
import io.vertx.pgclient.PgException;
import jakarta.enterprise.context.ApplicationScoped;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Redacts fields of a record. One transaction deletes the values, corrects the projections, replaces the seed by the salts of the remaining
 * fields, and appends the event.
 *
 * <p>The leaf of the record does not change, so a redaction needs no key and does not wait for the tree.
 */
@ApplicationScoped
class Redactions {

    private static final Sql READ_RECORDS = Sql.named("core/feed/read_records");
    private static final Sql READ_SEEDS = Sql.named("derived/log/read_seeds");
    private static final Sql REDACT = Sql.named("derived/redaction/redact");

    private final Places places;
    private final ProjectionSteps projections;
    private final SequentialGuid guids;
    private final SecureRandom random = new SecureRandom();

    Redactions(Places places, ProjectionSteps projections, SequentialGuid guids) {
        this.places = places;
        this.projections = projections;
        this.guids = guids;
    }

    /**
     * The record to redact, and the caller.
     *
     * @param mayRead if false, no answer may show values of the record or which of them are set
     */
    record Target(UUID projectId, UUID recordId, UUID tokenId, String address, boolean mayRead) {}

    /**
     * Redacts those of the fields that are still set.
     *
     * @return the record afterwards. Fails with {@code not-found}, {@code invalid-body} or {@code legal-hold}, and as
     *     if the database were away if other work on the project takes too long
     */
    Uni<StoredRecord> redact(Target target, RedactionRequest request) {
        return places.on(
                target.projectId,
                database -> DatabaseFailure.retried(Uni.createFrom()
                        .deferred(() -> database.pool()
                                .withTransaction(connection -> find(connection, target)
                                        .chain(record ->
                                                left(record, target, request).isEmpty()
                                                        ? nothing(connection, target, request, record)
                                                        : projections.change(
                                                                connection,
                                                                target.projectId,
                                                                record.sequenceId(),
                                                                () -> redact(connection, target, request)))))));
    }

    private static Uni<StoredRecord> find(SqlConnection connection, Target target) {
        return READ_RECORDS
                .bind("project_id", target.projectId)
                .bind("id", new UUID[] {target.recordId})
                .execute(connection)
                .map(rows -> {
                    if (rows.size() == 0) {
                        throw new ProblemException(
                                ProblemType.NOT_FOUND, "The project of this token has no record with this id.");
                    }
                    return RecordRow.record(rows.iterator().next());
                });
    }

    // If the caller may not read the record, a legal hold refuses also when no field is left: the answer must not tell.
    private Uni<StoredRecord> nothing(
            SqlConnection connection, Target target, RedactionRequest request, StoredRecord record) {
        Uni<StoredRecord> as = Uni.createFrom().item(record);
        return target.mayRead
                ? as
                : write(connection, target, request, record, new TreeSet<>()).chain(() -> as);
    }

    private static SortedSet<String> left(StoredRecord record, Target target, RedactionRequest request) {
        Redaction redaction = record.redaction();
        return request.left(
                record.record().action().startsWith(AuditRecord.RESERVED),
                target.mayRead,
                leaf(record).fields(),
                redaction == null ? Set.of() : redaction.digests().keySet());
    }

    private static LeafRecord leaf(StoredRecord record) {
        byte[] json = RecordEncoder.toBytes(record.withoutRedaction());
        return LeafRecord.parse(new String(json, StandardCharsets.UTF_8));
    }

    // Reads the record again: this transaction now holds the checkpoints, and no other redacts records of the project.
    private Uni<StoredRecord> redact(SqlConnection connection, Target target, RedactionRequest request) {
        return find(connection, target).chain(before -> {
            SortedSet<String> fields = left(before, target, request);
            return fields.isEmpty()
                    ? nothing(connection, target, request, before)
                    : entry(connection, target, before)
                            .chain(entry -> write(connection, target, request, before, fields)
                                    .chain(() -> find(connection, target))
                                    .invoke(after -> requireSame(entry, after)));
        });
    }

    private Uni<Void> write(
            SqlConnection connection,
            Target target,
            RedactionRequest request,
            StoredRecord before,
            SortedSet<String> fields) {
        byte[] drawn = new byte[Seed.BYTES];
        random.nextBytes(drawn);
        Map<String, String> values = leaf(before).fields();
        return REDACT.bind("project_id", target.projectId)
                .bind("record_id", target.recordId)
                .bind("fields", fields.toArray(String[]::new))
                .bind("reason", request.reasonWithout(fields.stream().map(values::get)))
                .bind("canonical_metadata", fields.contains("metadata") ? values.get("metadata") : null)
                .bind("drawn_seed", Buffer.buffer(drawn))
                .bind("event_id", guids.next())
                .bind("recorded_by_token", target.tokenId)
                .bind("address", target.address)
                .execute(connection)
                .onFailure(PgException.class)
                .transform(Redactions::explained)
                .replaceWithVoid();
    }

    private static Throwable explained(PgException failure) {
        return "legal_hold_stops".equals(failure.getConstraint())
                ? new ProblemException(
                        ProblemType.LEGAL_HOLD,
                        "Nothing was redacted: the record is under the legal hold " + failure.getDetail()
                                + ". Ask an administrator to lift it first.")
                : failure;
    }

    /** Null if the record has no seed yet and is in no tree. */
    private static Uni<@Nullable Hash> entry(SqlConnection connection, Target target, StoredRecord record) {
        Redaction redaction = record.redaction();
        if (redaction != null) {
            return Uni.createFrom().item(entry(record, redaction));
        }
        long tile = (record.sequenceId() - 1) / Tile.WIDTH;
        return READ_SEEDS
                .bind("project_id", target.projectId)
                .bind("first", tile)
                .bind("last", tile)
                .execute(connection)
                .map(rows -> {
                    if (rows.size() == 0) {
                        return null;
                    }
                    Seed seed = TileSeed.of(
                                    rows.iterator().next().getBuffer("seed").getBytes())
                            .ofRecord(record.sequenceId());
                    return leaf(record).entry(Objects.requireNonNull(seed, "only redactions take seeds"));
                });
    }

    private static Hash entry(StoredRecord record, Redaction redaction) {
        return leaf(record).entry(redaction.salts(), redaction.digests());
    }

    // A deleted value cannot be hashed again. Fail rather than lose the leaf.
    private static void requireSame(@Nullable Hash before, StoredRecord after) {
        Hash now = entry(after, Objects.requireNonNull(after.redaction(), "it was redacted"));
        if (before != null && !before.equals(now)) {
            throw new IllegalStateException(
                    "the leaf of record " + after.record().id() + " would change by the redaction");
        }
    }
}
