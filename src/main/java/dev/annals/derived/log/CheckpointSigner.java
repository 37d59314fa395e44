package dev.annals.derived.log;

import dev.annals.access.places.Places;
import dev.annals.derived.projection.Projectors;
import dev.annals.derived.proof.SigningKey;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.Hash;
import dev.annals.proof.MerkleTree;
import dev.annals.proof.Note;
import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.infrastructure.Infrastructure;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.SqlConnection;
import jakarta.enterprise.context.ApplicationScoped;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Signs the newest checkpoint of a log, or halts the log. The signing transaction locks the row of the log and reads the newest note there
 * first, so all instances sign one tree.
 *
 * <p>A note must never be taken back. Three memories tell whether the database has forgotten one, after a restore or a failover:
 *
 * <ol>
 *   <li>{@link SeenNotes}, files beside the key, hold the notes that this instance has released.
 *   <li>The row names the database that signed last; a promoted standby or a restored backup has another name.
 *   <li>{@link WitnessMemory} holds what witnesses have cosigned.
 * </ol>
 *
 * <p>If one of them objects, the log is halted until an operator decides. A note leaves after its commit is on disk and its file is
 * written.
 */
@ApplicationScoped
class CheckpointSigner {

    private static final Logger LOG = Logger.getLogger(CheckpointSigner.class);
    private static final Sql LOCK_LOG_TO_SIGN = Sql.named("derived/log/lock_log_to_sign");
    private static final Sql SIGN_LOG = Sql.named("derived/log/sign_log");
    private static final Pattern EPOCH = Pattern.compile("/log/([0-9]{1,9})$");

    private final Places places;
    private final Projectors projectors;
    private final LogKeys keys;
    private final SeenNotes seenNotes;
    private final Witnesses witnesses;
    private final LogConfig config;

    CheckpointSigner(
            Places places,
            Projectors projectors,
            LogKeys keys,
            SeenNotes seenNotes,
            Witnesses witnesses,
            LogConfig config) {
        this.places = places;
        this.projectors = projectors;
        this.keys = keys;
        this.seenNotes = seenNotes;
        this.witnesses = witnesses;
        this.config = config;
    }

    private sealed interface Outcome {

        record Signed(SignedLog log, @Nullable String cosigned) implements Outcome {}

        record Halted(String reason) implements Outcome {}
    }

    /** Fails with the problem {@code log-halted} if nothing is signed. */
    Uni<SignedLog> sign(UUID projectId) {
        if (!keys.any()) {
            return Uni.createFrom()
                    .failure(new ProblemException(
                            ProblemType.LOG_HALTED,
                            "This service has no key to sign with. Its operator makes one with annals log keygen, and names it"
                                    + " in ANNALS_LOG_KEY_FILE."));
        }
        return projectors
                .advance(LogTree.NAME, projectId)
                .chain(() -> askWitnesses(projectId))
                .chain(() -> blocking(() -> seenNotes.read(projectId)))
                .chain(seen -> places.of(projectId)
                        .pool()
                        .withTransaction(connection -> lock(connection, projectId)
                                .chain(row -> decide(connection, projectId, row, seen.orElse(null))))
                        .chain(outcome -> release(projectId, outcome, seen.orElse(null))));
    }

    private static ProblemException halted(String reason) {
        return new ProblemException(
                ProblemType.LOG_HALTED,
                "Nothing is signed for this log until an operator has looked at it: " + reason
                        + ". Records can be appended and read as ever. Checkpoints and proofs that you have stay valid."
                        + " The operator resumes it with annals log resume, or ends it with annals log next-epoch.");
    }

    /** Offers the newest note, or the empty beginning of an unsigned log, unless the witnesses have answered lately. */
    private Uni<Void> askWitnesses(UUID projectId) {
        if (!witnesses.any() || witnesses.memory().isFresh(projectId)) {
            return Uni.createFrom().voidItem();
        }
        return LogState.read(places.of(projectId).reads(), projectId).chain(state -> {
            SignedLog newest = newest(projectId, state);
            return state.halted() != null || newest == null ? Uni.createFrom().voidItem() : witnesses.offer(newest);
        });
    }

    /** Null if the newest note is not this service's. */
    private @Nullable SignedLog newest(UUID projectId, LogState state) {
        if (state.note() == null) {
            Checkpoint empty = new Checkpoint(keys.origin(projectId, state.epoch()), 0, Hash.EMPTY_TREE);
            String note =
                    SigningKey.sign(empty, keys.of(projectId, state.epoch())).toString();
            return new SignedLog(projectId, state.epoch(), note, empty);
        }
        return keys.open(projectId, state.epoch(), state.note());
    }

    private static Uni<Row> lock(SqlConnection connection, UUID projectId) {
        var lock = LOCK_LOG_TO_SIGN.bind("project_id", projectId).execute(connection);
        return lock.chain(rows -> rows.size() > 0
                        ? Uni.createFrom().item(rows)
                        : LogState.begin(connection, List.of(projectId))
                                .chain(() -> LOCK_LOG_TO_SIGN
                                        .bind("project_id", projectId)
                                        .execute(connection)))
                .map(rows -> rows.iterator().next());
    }

    private Uni<Outcome> decide(SqlConnection connection, UUID projectId, Row row, @Nullable String seen) {
        LogState state = LogState.of(row);
        if (state.halted() != null) {
            return Uni.createFrom().item(new Outcome.Halted(state.halted()));
        }
        String database = row.getString("database");
        return objection(connection, projectId, state, database, seen).chain(objection -> {
            if (objection.isPresent()) {
                return halt(connection, projectId, objection.get());
            }
            return sign(connection, projectId, state, database)
                    .onFailure(DamagedLog.class)
                    .recoverWithUni(damage -> halt(connection, projectId, damage.finding()));
        });
    }

    private static Uni<Outcome> halt(SqlConnection connection, UUID projectId, String reason) {
        return LogState.halt(connection, projectId, reason).replaceWith(new Outcome.Halted(reason));
    }

    private Uni<Outcome> sign(SqlConnection connection, UUID projectId, LogState state, String database) {
        List<SigningKey> signers = keys.of(projectId, state.epoch());
        Checkpoint signed = state.checkpoint();
        boolean rebuilding = state.size() < state.signedSize();
        if (signed != null
                && state.note() != null
                && database.equals(state.incarnation())
                && (rebuilding || (state.size() == signed.size() && isSignedByAll(state.note(), signers)))) {
            return Uni.createFrom()
                    .item(new Outcome.Signed(
                            new SignedLog(projectId, state.epoch(), state.note(), signed), state.cosigned()));
        }
        Checkpoint next = signed != null && rebuilding
                ? signed
                : new Checkpoint(
                        keys.origin(projectId, state.epoch()),
                        state.size(),
                        state.tree().root());
        String note = SigningKey.sign(next, signers).toString();
        // Readers get tiles from the stored roots, so these must lead to the signed root.
        Uni<Void> check = rebuilding
                ? Uni.createFrom().voidItem()
                : new TreeReader(connection, projectId).requireRoots(state.tree());
        return check.chain(() -> SIGN_LOG.bind("project_id", projectId)
                        .bind("signed_size", next.size())
                        .bind("checkpoint", note)
                        .bind("incarnation", database)
                        .execute(connection))
                .replaceWith(new Outcome.Signed(new SignedLog(projectId, state.epoch(), note, next), state.cosigned()));
    }

    private static boolean isSignedByAll(String note, List<SigningKey> signers) {
        return Note.parse(note)
                        .signedBy(signers.stream().map(SigningKey::verifier).toList())
                        .size()
                == signers.size();
    }

    /** The reason not to sign, if the database may have lost a note that readers have. */
    private Uni<Optional<String>> objection(
            SqlConnection connection, UUID projectId, LogState state, String database, @Nullable String seen) {
        String origin = keys.origin(projectId, state.epoch());
        if (state.note() != null) {
            try {
                Checkpoint.open(state.note(), keys.verifiers(projectId, state.epoch()));
            } catch (IllegalArgumentException e) {
                return objection("the newest note in the database is not one that this service's key has signed as "
                        + origin + " (" + e.getMessage() + ")");
            }
            // annals log resume deletes the name.
            if (state.incarnation() != null && !database.equals(state.incarnation()) && !config.trustPromotion()) {
                return objection("the database " + state.incarnation() + " has signed, and this one is " + database
                        + ": a standby was promoted, or a backup restored, and the newest notes may be lost");
            }
        }
        Optional<String> witness = witnesses.memory().objection(projectId, origin, state.signedSize());
        if (seen == null || witness.isPresent()) {
            return Uni.createFrom().item(witness);
        }
        try {
            return objection(connection, projectId, state, origin, Checkpoint.of(Note.parse(seen)));
        } catch (IllegalArgumentException e) {
            return objection("the last note cannot be read beside the log key: " + e.getMessage());
        }
    }

    private static Uni<Optional<String>> objection(
            SqlConnection connection, UUID projectId, LogState state, String origin, Checkpoint seen) {
        if (!seen.origin().equals(origin)) {
            Matcher epoch = EPOCH.matcher(seen.origin());
            boolean ended = epoch.find() && Integer.parseInt(epoch.group(1)) < state.epoch();
            return ended
                    ? Uni.createFrom().item(Optional.empty())
                    : objection("the last note is of the log " + seen.origin() + ", and the database has " + origin);
        }
        if (seen.size() > state.signedSize()) {
            return objection("this service has signed " + seen.size() + " records, and the database knows of "
                    + state.signedSize() + ": it was set back");
        }
        Checkpoint signed = state.checkpoint();
        if (signed == null || (seen.size() == signed.size() && seen.root().equals(signed.root()))) {
            return Uni.createFrom().item(Optional.empty());
        }
        // Another instance has signed since. Its note must continue the one that this instance released.
        List<MerkleTree.Part> parts = MerkleTree.consistency(seen.size(), signed.size());
        return new TreeReader(connection, projectId)
                .hashes(parts, signed.size())
                .map(proof -> MerkleTree.isConsistent(seen.size(), seen.root(), signed.size(), signed.root(), proof)
                        ? Optional.<String>empty()
                        : Optional.of(
                                "the note of " + signed.size() + " records in the database does not continue that of "
                                        + seen.size() + " which this service has signed"))
                .onFailure(DamagedLog.class)
                .recoverWithItem(damage -> Optional.of(damage.finding()));
    }

    private static Uni<Optional<String>> objection(String reason) {
        return Uni.createFrom().item(Optional.of(reason));
    }

    private Uni<SignedLog> release(UUID projectId, Outcome outcome, @Nullable String seen) {
        if (outcome instanceof Outcome.Halted halted) {
            return Uni.createFrom().failure(halted(halted.reason()));
        }
        Outcome.Signed signed = (Outcome.Signed) outcome;
        SignedLog log = signed.log();
        SignedLog cosigned = signed.cosigned() == null ? null : keys.open(projectId, log.epoch(), signed.cosigned());
        SignedLog released = cosigned == null ? log : log.cosignedAs(cosigned);
        return log.note().equals(seen)
                ? Uni.createFrom().item(released)
                : blocking(() -> {
                    seenNotes.write(projectId, log.note());
                    return released;
                });
    }

    private static <T> Uni<T> blocking(Blocking<T> work) {
        return Uni.createFrom()
                .item(() -> {
                    try {
                        return work.run();
                    } catch (IOException e) {
                        LOG.errorf(e, "The note cannot be stored beside the log key");
                        throw halted("the note cannot be stored beside the log key");
                    }
                })
                .runSubscriptionOn(Infrastructure.getDefaultWorkerPool());
    }

    private interface Blocking<T> {
        T run() throws IOException;
    }
}
