package dev.annals.derived.log;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.derived.projection.Projector;
import dev.annals.derived.proof.SigningKey;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Reads;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.Hash;
import dev.annals.proof.MerkleTree;
import dev.annals.proof.Note;
import dev.annals.proof.VerifierKey;
import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.infrastructure.Infrastructure;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.mutiny.sqlclient.SqlConnection;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Signs checkpoints when readers ask for them.
 *
 * <p>However many instances there are, they sign one tree: whoever signs holds the row of the log, and looks at the newest note
 * there first. A note leaves only after the commit that stores it, which waits for the disk: so no crash takes back what a
 * reader has. A database that was set back, restored or promoted may lack notes that readers have. Then what this instance has
 * seen is beside the key, and the database has another name than the one that signed; the log is halted rather than continued in
 * another way.
 */
@ApplicationScoped
public class Checkpoints {

    private static final Logger LOG = Logger.getLogger(Checkpoints.class);
    private static final Sql LOCK_LOG_TO_SIGN = Sql.named("derived/log/lock_log_to_sign");
    private static final Sql BEGIN_LOG = Sql.named("derived/log/begin_log");
    private static final Sql SIGN_LOG = Sql.named("derived/log/sign_log");
    private static final Sql READ_LOG = Sql.named("derived/log/read_log");
    private static final Pattern EPOCH = Pattern.compile("/log/([0-9]{1,9})$");
    private static final int KEPT = 10_000;
    private static final int KEPT_PINNED = 1_000;
    private static final Duration BEHIND = Duration.ofSeconds(1);

    private final Pool pool;
    private final Pool reads;
    private final Projector projector;
    private final LogKeys keys;
    private final SeenNotes seenNotes;
    private final Witnesses witnesses;
    private final LogConfig config;
    private final KeptTiles tiles;
    /** Who asks within the interval shares what the first one has got. */
    private final Cache<UUID, Uni<SignedLog>> newest;
    /** Who asks for cosignatures within the same second shares an offer to the witnesses. */
    private final Cache<UUID, Uni<SignedLog>> offered =
            Caffeine.newBuilder().maximumSize(KEPT).expireAfterWrite(BEHIND).build();
    /** Older sizes, to which readers hold on for a walk through many pages. */
    private final Cache<Pinned, SignedLog> pinned =
            Caffeine.newBuilder().maximumSize(KEPT_PINNED).build();

    private record Pinned(UUID projectId, int epoch, long size) {}

    /** Logs that have ended, with which the present one is known to begin. */
    private final Cache<Ended, Boolean> begun =
            Caffeine.newBuilder().maximumSize(KEPT_PINNED).build();

    private record Ended(UUID projectId, int epoch, int present) {}

    @Inject
    Checkpoints(
            Pool pool,
            @Reads Pool reads,
            Projector projector,
            LogKeys keys,
            SeenNotes seenNotes,
            Witnesses witnesses,
            LogConfig config,
            KeptTiles tiles) {
        this.pool = pool;
        this.reads = reads;
        this.projector = projector;
        this.keys = keys;
        this.seenNotes = seenNotes;
        this.witnesses = witnesses;
        this.config = config;
        this.tiles = tiles;
        this.newest = Caffeine.newBuilder()
                .maximumSize(KEPT)
                .expireAfterWrite(config.interval())
                .build();
    }

    /**
     * The signed note of a checkpoint with at least so many records, for those who keep it beside records. Fails with {@code log-behind}
     * or {@code log-halted}.
     *
     * @return null where logs are not signed
     */
    public Uni<@Nullable String> note(UUID projectId, long size) {
        return keys.any()
                ? withAtLeast(projectId, size).map(SignedLog::note)
                : Uni.createFrom().nullItem();
    }

    /** What came of an attempt to sign. */
    private sealed interface Outcome {

        /** @param cosigned the newest note that witnesses have cosigned */
        record Signed(SignedLog log, @Nullable String cosigned) implements Outcome {}

        record Halted(String reason) implements Outcome {}
    }

    /**
     * The newest checkpoint of a log, with all records that were committed one {@link LogConfig#interval} ago, unless there are
     * very many of them. Fails with the problem {@code log-halted} where nothing is signed.
     */
    Uni<SignedLog> newest(UUID projectId) {
        return newest.get(
                projectId,
                project -> DatabaseFailure.retried(refresh(project)).memoize().indefinitely());
    }

    /**
     * The same, if the log has so many records; otherwise fails with {@code log-behind}. Who comes right behind an append may
     * share what was signed before it, and so looks a second time.
     */
    Uni<SignedLog> withAtLeast(UUID projectId, long size) {
        return newest(projectId)
                .chain(log -> log.size() >= size
                        ? Uni.createFrom().item(log)
                        : Uni.createFrom()
                                .voidItem()
                                .onItem()
                                .delayIt()
                                .by(config.interval())
                                .chain(() -> newest(projectId)))
                .invoke(log -> {
                    if (log.size() < size) {
                        throw behind(size, log.size());
                    }
                });
    }

    /**
     * The newest checkpoint that so many witnesses have cosigned. If the log has grown since, they are asked; otherwise fails
     * with {@code log-behind}.
     *
     * @param needed with 0 it is the newest checkpoint
     */
    Uni<SignedLog> witnessed(UUID projectId, int needed) {
        return newest(projectId)
                .chain(log -> needed == 0 || witnesses.cosigners(log.note()) >= needed
                        ? Uni.createFrom().item(log)
                        : offered.get(projectId, project -> offer(log).memoize().indefinitely())
                                .map(newest -> cosigned(newest, needed)));
    }

    /**
     * The same, if the log had so many records then; otherwise fails with {@code log-behind}. Who comes right behind an append may
     * share an offer that was made before it.
     */
    Uni<SignedLog> witnessedWithAtLeast(UUID projectId, long size, int needed) {
        Uni<SignedLog> log = withAtLeast(projectId, size);
        return needed == 0
                ? log
                : log.chain(() -> witnessed(projectId, needed)).invoke(cosigned -> {
                    if (cosigned.size() < size) {
                        throw notCosigned(needed);
                    }
                });
    }

    /** The same of an epoch that may have begun since the last one was signed for others. */
    Uni<SignedLog> witnessed(UUID projectId, int epoch, int needed) {
        return witnessed(projectId, needed).chain(log -> {
            if (log.epoch() >= epoch) {
                return Uni.createFrom().item(log);
            }
            newest.invalidate(projectId);
            offered.invalidate(projectId);
            return witnessed(projectId, needed);
        });
    }

    /** Offers a checkpoint to the witnesses. Gives the log as it is then, or fails where one of them has halted it. */
    Uni<SignedLog> offer(SignedLog log) {
        return witnesses.offer(log).chain(() -> {
            newest.invalidate(log.projectId());
            return newest(log.projectId());
        });
    }

    private SignedLog cosigned(SignedLog log, int needed) {
        if (witnesses.cosigners(log.note()) >= needed) {
            return log;
        }
        SignedLog cosigned = log.cosigned();
        if (cosigned != null && witnesses.cosigners(cosigned.note()) >= needed) {
            return cosigned;
        }
        throw notCosigned(needed);
    }

    private static ProblemException notCosigned(int needed) {
        return new ProblemException(Problem.of(
                        ProblemType.LOG_BEHIND,
                        "No checkpoint that is new enough is cosigned by " + needed
                                + " of the log's witnesses yet. GET " + LogResource.PATH
                                + " shows what they have seen. Try again, or ask for fewer.")
                .withRetryAfter(BEHIND));
    }

    private static ProblemException behind(long size, long signed) {
        return new ProblemException(Problem.of(
                        ProblemType.LOG_BEHIND,
                        "The log has " + signed + " records, and not " + size
                                + ". It follows the feed within moments: try again, unless you have a checkpoint with more; then"
                                + " the end of the feed was lost, and the log can no longer be what it was.")
                .withRetryAfter(BEHIND));
    }

    /**
     * The checkpoint of a size that the log has had, signed if it was not yet. It says nothing that the newest one does not say:
     * the tree begins with it.
     */
    Uni<SignedLog> at(UUID projectId, long size) {
        return withAtLeast(projectId, size).chain(log -> {
            if (log.size() == size) {
                return Uni.createFrom().item(log);
            }
            SignedLog cosigned = log.cosigned();
            if (cosigned != null && cosigned.size() == size) {
                return Uni.createFrom().item(cosigned);
            }
            Pinned key = new Pinned(projectId, log.epoch(), size);
            SignedLog known = pinned.getIfPresent(key);
            return known != null
                    ? Uni.createFrom().item(known)
                    : beginning(log, size).invoke(older -> pinned.put(key, older));
        });
    }

    private Uni<SignedLog> beginning(SignedLog log, long size) {
        List<MerkleTree.Part> parts = new ArrayList<>(MerkleTree.consistency(size, log.size()));
        parts.add(MerkleTree.whole(size));
        return guarded(
                log,
                DatabaseFailure.retried(tree(log.projectId()).hashes(parts, log.size()))
                        .map(hashes -> {
                            Hash root = hashes.get(hashes.size() - 1);
                            List<Hash> proof = hashes.subList(0, hashes.size() - 1);
                            if (!MerkleTree.isConsistent(
                                    size, root, log.size(), log.checkpoint().root(), proof)) {
                                throw new DamagedLog(
                                        "the tree of " + log.size() + " records does not begin with that of " + size);
                            }
                            Checkpoint older = new Checkpoint(log.checkpoint().origin(), size, root);
                            return new SignedLog(
                                    log.projectId(),
                                    log.epoch(),
                                    SigningKey.sign(older, keys.of(log.projectId(), log.epoch()))
                                            .toString(),
                                    older);
                        }));
    }

    /**
     * A log that has ended, where the tree still begins with it as it was signed last.
     *
     * @param now the log that followed it
     * @param note its last one
     * @return null where it does not
     */
    Uni<@Nullable SignedLog> ended(SignedLog now, int epoch, String note) {
        SignedLog ended = opened(now.projectId(), epoch, note);
        if (ended == null || ended.size() > now.size()) {
            return Uni.createFrom().nullItem();
        }
        Ended key = new Ended(now.projectId(), epoch, now.epoch());
        if (begun.getIfPresent(key) != null) {
            return Uni.createFrom().item(ended);
        }
        // Tiles that are kept may be those from before the tree was made anew.
        return DatabaseFailure.retried(new TreeReader(reads, now.projectId()).root(ended.size()))
                .map(root -> {
                    if (!root.equals(ended.checkpoint().root())) {
                        return null;
                    }
                    begun.put(key, true);
                    return ended;
                });
    }

    /** The state of a log; that of a log without any record where there is none. */
    Uni<LogState> state(UUID projectId) {
        return DatabaseFailure.retried(READ_LOG.bind("project_id", projectId)
                .execute(reads)
                .map(LogState::of)
                .map(state -> state == null ? LogState.NEW : state));
    }

    /** What reads the tree of a log for many. */
    TreeReader tree(UUID projectId) {
        return new TreeReader(reads, projectId, tiles);
    }

    /**
     * Makes the problem {@code log-forked} of what shows that a log's records are not those that were signed; halts the log. What
     * does not fit is first read once more, without the tiles that are kept.
     */
    <T> Uni<T> guarded(SignedLog log, Uni<T> reading) {
        return reading.onFailure(DamagedLog.class)
                .recoverWithUni(() -> {
                    tiles.forget(log.projectId());
                    return reading;
                })
                .onFailure(DamagedLog.class)
                .recoverWithUni(failure -> damaged(log, failure.finding()));
    }

    /** Halts a log, and fails with {@code log-forked}. */
    private <T> Uni<T> damaged(SignedLog log, String finding) {
        newest.invalidate(log.projectId());
        return pool.withTransaction(connection -> LogTree.halt(connection, log.projectId(), finding))
                .onFailure()
                .invoke(failure -> LOG.errorf(failure, "The log of project %s cannot be halted", log.projectId()))
                .onFailure()
                .recoverWithNull()
                .chain(() -> Uni.createFrom().failure(forked(finding)));
    }

    private static ProblemException forked(String finding) {
        return new ProblemException(
                ProblemType.LOG_FORKED,
                "The records are not those that the log has signed: " + finding
                        + ". Keep the checkpoints that you have, and ask who runs the service.");
    }

    private static ProblemException halted(String reason) {
        return new ProblemException(
                ProblemType.LOG_HALTED,
                "Nothing is signed for this log until an operator has looked at it: " + reason
                        + ". Records can be appended and read as ever. Checkpoints and proofs that you have stay valid."
                        + " The operator lets the log go on with annals log resume, or ends it with annals log next-epoch.");
    }

    private Uni<SignedLog> refresh(UUID projectId) {
        if (!keys.any()) {
            return Uni.createFrom()
                    .failure(new ProblemException(
                            ProblemType.LOG_HALTED,
                            "This service has no key to sign with. Its operator makes one with annals log keygen, and names it"
                                    + " in ANNALS_LOG_KEY_FILE."));
        }
        return projector
                .advance(LogTree.NAME, projectId)
                .chain(() -> askWitnesses(projectId))
                .chain(() -> blocking(() -> seenNotes.read(projectId)))
                .chain(seen -> pool.withTransaction(connection -> lock(connection, projectId)
                                .chain(row -> decide(connection, projectId, row, seen.orElse(null))))
                        .chain(outcome -> released(projectId, outcome, seen.orElse(null))));
    }

    /**
     * Before anything more is signed of a log, its witnesses say of how much they know, unless they have said so lately: they are
     * offered what was signed last; of a log that was never signed, the empty beginning that every log has.
     */
    private Uni<Void> askWitnesses(UUID projectId) {
        if (!witnesses.any() || witnesses.haveHeardOf(projectId)) {
            return Uni.createFrom().voidItem();
        }
        return state(projectId).chain(state -> {
            SignedLog last = last(projectId, state);
            return state.halted() != null || last == null ? Uni.createFrom().voidItem() : witnesses.offer(last);
        });
    }

    /** The log as it was signed last; null if that note is not this service's. */
    private @Nullable SignedLog last(UUID projectId, LogState state) {
        if (state.note() == null) {
            Checkpoint empty = new Checkpoint(keys.origin(projectId, state.epoch()), 0, Hash.EMPTY_TREE);
            String note =
                    SigningKey.sign(empty, keys.of(projectId, state.epoch())).toString();
            return new SignedLog(projectId, state.epoch(), note, empty);
        }
        return opened(projectId, state.epoch(), state.note());
    }

    private @Nullable SignedLog opened(UUID projectId, int epoch, String note) {
        try {
            return new SignedLog(projectId, epoch, note, Checkpoint.open(note, keys.verifiers(projectId, epoch)));
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    private static Uni<Row> lock(SqlConnection connection, UUID projectId) {
        Uni<RowSet<Row>> locked = LOCK_LOG_TO_SIGN.bind("project_id", projectId).execute(connection);
        return locked.chain(rows -> rows.size() > 0
                        ? Uni.createFrom().item(rows)
                        : BEGIN_LOG
                                .bind("project_id", new UUID[] {projectId})
                                .execute(connection)
                                .chain(() -> LOCK_LOG_TO_SIGN
                                        .bind("project_id", projectId)
                                        .execute(connection)))
                .map(rows -> rows.iterator().next());
    }

    /** Blocking work, on a thread that may wait. */
    private static <T> Uni<T> blocking(Blocking<T> work) {
        return Uni.createFrom()
                .item(() -> {
                    try {
                        return work.run();
                    } catch (IOException e) {
                        LOG.errorf(e, "What was signed cannot be noted beside the log key");
                        throw halted("what was signed cannot be noted beside the log key");
                    }
                })
                .runSubscriptionOn(Infrastructure.getDefaultWorkerPool());
    }

    private interface Blocking<T> {
        T run() throws IOException;
    }

    /** Signs, or halts the log, in the transaction that holds it. */
    private Uni<Outcome> decide(SqlConnection connection, UUID projectId, Row row, @Nullable String seen) {
        LogState state = LogState.of(row);
        if (state.halted() != null) {
            return Uni.createFrom().item(new Outcome.Halted(state.halted()));
        }
        String database = row.getString("database");
        return objection(connection, projectId, state, database, seen).chain(objection -> {
            if (objection.isPresent()) {
                return LogTree.halt(connection, projectId, objection.get())
                        .replaceWith(new Outcome.Halted(objection.get()));
            }
            return sign(connection, projectId, state, database)
                    .onFailure(DamagedLog.class)
                    .recoverWithUni(damage -> LogTree.halt(connection, projectId, damage.finding())
                            .replaceWith(new Outcome.Halted(damage.finding())));
        });
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
        // Readers get tiles that are made of these roots. Nothing is signed over others.
        Uni<Void> sound = rebuilding
                ? Uni.createFrom().voidItem()
                : new TreeReader(connection, projectId).requireRoots(state.tree());
        return sound.chain(() -> SIGN_LOG.bind("project_id", projectId)
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

    /** Why a log may not be signed: what readers have may not be what is here. */
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
            // An operator who lets the log go on forgets the name.
            if (state.incarnation() != null && !database.equals(state.incarnation()) && !config.trustPromotion()) {
                return objection("the database " + state.incarnation() + " has signed, and this one is " + database
                        + ": a standby was promoted, or a backup restored, and the newest notes may be lost");
            }
        }
        Optional<String> witness = witnesses.objection(projectId, origin, state.signedSize());
        if (seen == null || witness.isPresent()) {
            return Uni.createFrom().item(witness);
        }
        try {
            return objection(connection, projectId, state, origin, Checkpoint.of(Note.parse(seen)));
        } catch (IllegalArgumentException e) {
            return objection("what was signed last cannot be read beside the log key: " + e.getMessage());
        }
    }

    private static Uni<Optional<String>> objection(
            SqlConnection connection, UUID projectId, LogState state, String origin, Checkpoint seen) {
        if (!seen.origin().equals(origin)) {
            Matcher epoch = EPOCH.matcher(seen.origin());
            boolean ended = epoch.find() && Integer.parseInt(epoch.group(1)) < state.epoch();
            return ended
                    ? Uni.createFrom().item(Optional.empty())
                    : objection(
                            "what was signed last is the log " + seen.origin() + ", and the database has " + origin);
        }
        if (seen.size() > state.signedSize()) {
            return objection("this service has signed " + seen.size() + " records, and the database knows of "
                    + state.signedSize() + ": it was set back");
        }
        Checkpoint signed = state.checkpoint();
        if (signed == null || (seen.size() == signed.size() && seen.root().equals(signed.root()))) {
            return Uni.createFrom().item(Optional.empty());
        }
        // Another instance has signed since. Its note must continue the one that was seen here.
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

    /** Lets a note out, once it is noted here, too. */
    private Uni<SignedLog> released(UUID projectId, Outcome outcome, @Nullable String seen) {
        if (outcome instanceof Outcome.Halted halted) {
            return Uni.createFrom().failure(halted(halted.reason()));
        }
        Outcome.Signed signed = (Outcome.Signed) outcome;
        SignedLog log = signed.log();
        SignedLog cosigned = signed.cosigned() == null ? null : opened(projectId, log.epoch(), signed.cosigned());
        SignedLog released = cosigned == null ? log : log.cosignedAs(cosigned);
        return log.note().equals(seen)
                ? Uni.createFrom().item(released)
                : blocking(() -> {
                    seenNotes.write(projectId, log.note());
                    return released;
                });
    }

    /** What readers verify a log with. */
    List<VerifierKey> verifiers(UUID projectId, int epoch) {
        return keys.verifiers(projectId, epoch);
    }
}
