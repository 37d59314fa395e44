package dev.annals.derived.log;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.access.places.Places;
import dev.annals.derived.proof.SigningKey;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.ElsewhereException;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.VerifierKey;
import io.smallrye.mutiny.Uni;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Answers requests for checkpoints. Requests within one {@link LogConfig#interval} share a signature of {@link CheckpointSigner}; requests
 * within a second share an offer to the {@link Witnesses}.
 *
 * <p>Methods fail with these problems: {@code log-halted} if nothing is signed, {@code log-behind} if no checkpoint is new enough yet,
 * {@code log-forked} if stored records or hashes do not match what was signed.
 */
@ApplicationScoped
public class Checkpoints {

    private static final Logger LOG = Logger.getLogger(Checkpoints.class);
    private static final int MAX_LOGS = 10_000;
    private static final int MAX_OLDER = 1_000;
    private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

    private final Places places;
    private final CheckpointSigner signer;
    private final LogKeys keys;
    private final Witnesses witnesses;
    private final LogConfig config;
    private final TileCache tiles;
    private final Cache<UUID, Uni<SignedLog>> newest;
    private final Cache<UUID, Uni<SignedLog>> offered = Caffeine.newBuilder()
            .maximumSize(MAX_LOGS)
            .expireAfterWrite(RETRY_AFTER)
            .build();
    /** Readers keep older sizes for a walk through many pages. */
    private final Cache<Older, SignedLog> older =
            Caffeine.newBuilder().maximumSize(MAX_OLDER).build();
    /** Ended logs with which the present one begins. */
    private final Cache<Ended, Boolean> continued =
            Caffeine.newBuilder().maximumSize(MAX_OLDER).build();

    private record Older(UUID projectId, int epoch, long size) {}

    private record Ended(UUID projectId, int epoch, int present) {}

    @Inject
    Checkpoints(
            Places places,
            CheckpointSigner signer,
            LogKeys keys,
            Witnesses witnesses,
            LogConfig config,
            TileCache tiles) {
        this.places = places;
        this.signer = signer;
        this.keys = keys;
        this.witnesses = witnesses;
        this.config = config;
        this.tiles = tiles;
        this.newest = Caffeine.newBuilder()
                .maximumSize(MAX_LOGS)
                .expireAfterWrite(config.interval())
                .build();
    }

    /** Null if this service has no key. */
    public Uni<@Nullable String> note(UUID projectId, long size) {
        return keys.any()
                ? withAtLeast(projectId, size).map(SignedLog::note)
                : Uni.createFrom().nullItem();
    }

    /**
     * Covers all records that were committed one {@link LogConfig#interval} ago, unless they need more than a few steps of the projector.
     */
    Uni<SignedLog> newest(UUID projectId) {
        return newest.get(
                projectId,
                project -> DatabaseFailure.retried(places.on(project, database -> signer.sign(project)))
                        .memoize()
                        .indefinitely());
    }

    /** Asks twice, because the first answer may be older than an append just before. */
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
     * The newest checkpoint that enough witnesses have cosigned. They are asked if the log has grown since.
     *
     * @param needed 0 for the newest checkpoint
     */
    Uni<SignedLog> witnessed(UUID projectId, int needed) {
        return newest(projectId)
                .chain(log -> needed == 0 || witnesses.cosigners(log.note()) >= needed
                        ? Uni.createFrom().item(log)
                        : offered.get(projectId, project -> offer(log).memoize().indefinitely())
                                .map(newest -> cosigned(newest, needed)));
    }

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

    /** A cosigned checkpoint of an epoch that may have begun after the shared ones were signed. */
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

    /** Returns the newest checkpoint after the offer, with its cosignatures. */
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
                .withRetryAfter(RETRY_AFTER));
    }

    private static ProblemException behind(long size, long signed) {
        return new ProblemException(Problem.of(
                        ProblemType.LOG_BEHIND,
                        "The log has " + signed + " records, and not " + size
                                + ". It follows the feed within moments: try again, unless you have a checkpoint with more; then"
                                + " the end of the feed was lost, and the log can no longer be what it was.")
                .withRetryAfter(RETRY_AFTER));
    }

    /** The checkpoint of a size that the log has had. If it was never signed, it is signed now: the newest tree begins with it. */
    Uni<SignedLog> at(UUID projectId, long size) {
        return withAtLeast(projectId, size).chain(log -> {
            if (log.size() == size) {
                return Uni.createFrom().item(log);
            }
            SignedLog cosigned = log.cosigned();
            if (cosigned != null && cosigned.size() == size) {
                return Uni.createFrom().item(cosigned);
            }
            Older key = new Older(projectId, log.epoch(), size);
            SignedLog known = older.getIfPresent(key);
            return known != null
                    ? Uni.createFrom().item(known)
                    : beginning(log, size).invoke(signed -> older.put(key, signed));
        });
    }

    private Uni<SignedLog> beginning(SignedLog log, long size) {
        return haltIfDamaged(log, tree(log.projectId()).consistency(size, log.checkpoint()))
                .map(consistency -> {
                    Checkpoint checkpoint = new Checkpoint(log.checkpoint().origin(), size, consistency.root());
                    String note = SigningKey.sign(checkpoint, keys.of(log.projectId(), log.epoch()))
                            .toString();
                    return new SignedLog(log.projectId(), log.epoch(), note, checkpoint);
                });
    }

    /**
     * An ended log; null if the present tree does not begin with it.
     *
     * @param note the last one of the ended log
     */
    Uni<@Nullable SignedLog> ended(SignedLog present, int epoch, String note) {
        SignedLog ended = keys.open(present.projectId(), epoch, note);
        if (ended == null || ended.size() > present.size()) {
            return Uni.createFrom().nullItem();
        }
        Ended key = new Ended(present.projectId(), epoch, present.epoch());
        if (continued.getIfPresent(key) != null) {
            return Uni.createFrom().item(ended);
        }
        // Cached tiles may be older than a rebuilt tree.
        return DatabaseFailure.retried(
                        new TreeReader(places.of(present.projectId()).reads(), present.projectId()).root(ended.size()))
                .map(root -> {
                    if (!root.equals(ended.checkpoint().root())) {
                        return null;
                    }
                    continued.put(key, true);
                    return ended;
                });
    }

    TreeReader tree(UUID projectId) {
        return new TreeReader(places.of(projectId).reads(), projectId, tiles);
    }

    /** Repeats the read without the cache if it finds damage. If the damage persists, halts the log and fails with {@code log-forked}. */
    <T> Uni<T> haltIfDamaged(SignedLog log, Uni<T> read) {
        return DatabaseFailure.retried(read)
                .onFailure(DamagedLog.class)
                .recoverWithUni(() -> {
                    tiles.forget(log.projectId());
                    return DatabaseFailure.retried(read);
                })
                .onFailure(DamagedLog.class)
                .recoverWithUni(failure -> halt(log, failure.finding()));
    }

    private <T> Uni<T> halt(SignedLog log, String finding) {
        newest.invalidate(log.projectId());
        return places.of(log.projectId())
                .pool()
                .withTransaction(connection -> LogState.halt(connection, log.projectId(), finding))
                // The copy that a project has left, or is not here yet, may lack hashes.
                .onFailure(failure -> !ElsewhereException.isOf(failure))
                .recoverWithItem(failure -> {
                    LOG.errorf(failure, "The log of project %s cannot be halted", log.projectId());
                    return null;
                })
                .chain(() -> Uni.createFrom().failure(forked(finding)));
    }

    private static ProblemException forked(String finding) {
        return new ProblemException(
                ProblemType.LOG_FORKED,
                "The records are not those that the log has signed: " + finding
                        + ". Keep the checkpoints that you have, and ask the operator of the service.");
    }

    List<VerifierKey> verifiers(UUID projectId, int epoch) {
        return keys.verifiers(projectId, epoch);
    }
}
