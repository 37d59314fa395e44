package dev.annals.derived.log;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.derived.log.WitnessClient.Answer;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Reads;
import dev.annals.kernel.database.Sql;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.Hash;
import dev.annals.proof.MerkleTree;
import dev.annals.proof.Note;
import dev.annals.proof.WitnessPolicy;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.ShutdownEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Inject;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * The witnesses of this service's logs: offers them checkpoints, keeps what they cosign, and knows how much of a log they have
 * seen. A witness remembers what a database that was set back has forgotten.
 *
 * <p>All of them are asked at once, and nobody waits for one longer than {@link #PROMPT}; what comes later is kept all the same.
 * One that was not prompt the last time is not waited for, and one that does not answer is left alone for a while.
 */
@ApplicationScoped
public class Witnesses {

    private static final Logger LOG = Logger.getLogger(Witnesses.class);
    private static final Sql READ_WITNESSES = Sql.named("derived/log/read_witnesses");
    private static final Sql NOTE_WITNESS = Sql.named("derived/log/note_witness");
    private static final Sql STORE_COSIGNED = Sql.named("derived/log/store_cosigned");
    private static final Duration PROMPT = Duration.ofSeconds(1);
    /** For so long what the witnesses have said of a log is enough to sign more of it. */
    private static final Duration HEARD = Duration.ofMinutes(1);
    /** How long a log is not offered to a witness that does not cosign it. */
    private static final Duration REFUSED = Duration.ofMinutes(1);

    /** How long a witness may take for its answer: it writes a note to its disk, and a reader waits for it. */
    static final Duration TIMEOUT = Duration.ofSeconds(5);

    private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
    private static final Duration LONGEST_PAUSE = Duration.ofMinutes(5);
    /** Another instance may be offering the same log. */
    private static final int TRIES = 3;

    private static final int KEPT = 10_000;

    private final Pool pool;
    private final Pool reads;
    private final int needed;
    private final WitnessPolicy policy;
    private final List<Asked> all;
    /** Which logs the witnesses were asked about lately. */
    private final Cache<UUID, Boolean> heard =
            Caffeine.newBuilder().maximumSize(KEPT).expireAfterWrite(HEARD).build();
    /** By origin, what each witness has said of a log. */
    private final Cache<String, Map<Witness, Claim>> claims =
            Caffeine.newBuilder().maximumSize(KEPT).build();

    /** How many records of a log a witness has seen, and why it says that the log is forked. */
    private record Claim(long size, @Nullable String fork) {

        static Claim later(Claim before, Claim now) {
            return new Claim(Math.max(before.size, now.size), now.fork == null ? before.fork : now.fork);
        }
    }

    @Inject
    Witnesses(LogConfig config, Pool pool, @Reads Pool reads, Vertx vertx, MeterRegistry metrics) {
        this(config, TIMEOUT, pool, reads, vertx, metrics);
    }

    Witnesses(LogConfig config, Duration timeout, Pool pool, Pool reads, Vertx vertx, MeterRegistry metrics) {
        this.pool = pool;
        this.reads = reads;
        this.needed = config.witnessesNeeded();
        this.all = Witness.of(config).stream()
                .map(witness -> new Asked(witness, new WitnessClient(witness, vertx, timeout)))
                .toList();
        this.policy =
                new WitnessPolicy(all.stream().map(asked -> asked.witness.key()).toList(), needed);
        Gauge.builder("annals.log.witnesses.failing", () -> failing().size())
                .description("Witnesses that have not answered this instance the last time")
                .register(metrics);
    }

    void stop(@Observes ShutdownEvent event) {
        all.forEach(asked -> asked.client.close());
    }

    /** A witness, and how it has behaved. */
    private static final class Asked {

        final Witness witness;
        final WitnessClient client;
        /** Answered in time, the last time. */
        volatile boolean prompt = true;
        /** How many calls have failed one after the other. */
        volatile int failures;

        private volatile long until;

        Asked(Witness witness, WitnessClient client) {
            this.witness = witness;
            this.client = client;
        }

        boolean isLeftAlone() {
            return failures > 0 && System.nanoTime() - until < 0;
        }

        /** Notes whether it answered at all. */
        void answered(boolean did) {
            if (!did) {
                until = System.nanoTime()
                        + DatabaseFailure.backOff(FIRST_PAUSE, LONGEST_PAUSE, failures)
                                .toNanos();
            }
            failures = did ? 0 : Math.min(failures + 1, 1000);
        }
    }

    /** Whether there is any. */
    boolean any() {
        return !all.isEmpty();
    }

    /** How many have to have cosigned what readers get who do not say how many. */
    int needed() {
        return needed;
    }

    /** Those who are asked at present. */
    List<String> asked() {
        return all.stream()
                .filter(asked -> !asked.isLeftAlone())
                .map(asked -> asked.witness.vkey())
                .toList();
    }

    /** The names of those who did not answer the last time. */
    List<String> failing() {
        return all.stream()
                .filter(asked -> asked.failures > 0)
                .map(asked -> asked.witness.name())
                .toList();
    }

    /** Whether what the witnesses know of a log was asked lately. */
    boolean haveHeardOf(UUID projectId) {
        return heard.getIfPresent(projectId) != null;
    }

    /** How many of them have cosigned a note. */
    int cosigners(String note) {
        try {
            return policy.cosigners(Note.parse(note)).size();
        } catch (IllegalArgumentException e) {
            return 0;
        }
    }

    /** Whether a witness speaks against signing a log of which so much has been signed. */
    boolean object(String origin, long signedSize) {
        Map<Witness, Claim> said = claims.getIfPresent(origin);
        return said != null && said.values().stream().anyMatch(claim -> claim.fork != null || claim.size > signedSize);
    }

    /**
     * Why a log may not be signed: a witness has seen more of it than the database knows of, or something else. Whoever resumes
     * the log has the witnesses asked anew.
     */
    Optional<String> objection(UUID projectId, String origin, long signedSize) {
        for (Map.Entry<Witness, Claim> said :
                claims.get(origin, log -> new ConcurrentHashMap<>()).entrySet()) {
            Claim claim = said.getValue();
            String reason = claim.fork != null
                    ? claim.fork
                    : claim.size > signedSize
                            ? "it has cosigned " + claim.size + " records, and the database knows of " + signedSize
                                    + ", so this was set back"
                            : null;
            if (reason != null) {
                claims.invalidate(origin);
                heard.invalidate(projectId);
                return Optional.of("the witness " + said.getKey().name() + " objects: " + reason);
            }
        }
        return Optional.empty();
    }

    /** A checkpoint that witnesses are asked for, with the lines that have come. */
    private static final class Offer {

        final SignedLog log;
        final Note note;
        private final List<String> lines = new ArrayList<>();
        private boolean isStored;

        Offer(SignedLog log) {
            this.log = log;
            this.note = Note.parse(log.note());
        }

        /** Takes a line; true if the others are stored already, and it has to follow them. */
        synchronized boolean isLate(String line) {
            lines.add(line);
            return isStored;
        }

        /** The note with all lines up to now, to be stored; null if there are none. */
        synchronized @Nullable Note cosigned() {
            isStored = true;
            return lines.isEmpty() ? null : note.and(new Note(note.text(), List.copyOf(lines)));
        }
    }

    /**
     * Offers a checkpoint that was signed to all witnesses, and stores what they cosign.
     *
     * @return when those have answered who usually do in time; never fails
     */
    Uni<Void> offer(SignedLog log) {
        heard.put(log.projectId(), true);
        return READ_WITNESSES
                .bind("project_id", log.projectId())
                .execute(reads)
                .map(rows -> known(rows, log.epoch()))
                .chain(known -> offer(new Offer(log), known))
                .onFailure()
                .invoke(failure -> LOG.debugf(failure, "The log of project %s is not offered", log.projectId()))
                .onFailure()
                .recoverWithNull()
                .replaceWithVoid();
    }

    /** What each witness has said of this log, by its key. */
    private static Map<String, Row> known(RowSet<Row> rows, int epoch) {
        Map<String, Row> known = new HashMap<>();
        for (Row row : rows) {
            if (row.getInteger("epoch") == epoch) {
                known.put(row.getString("witness"), row);
            }
        }
        return known;
    }

    private Uni<Void> offer(Offer offer, Map<String, Row> known) {
        List<Uni<Void>> awaited = new ArrayList<>();
        Set<Asked> unanswered = ConcurrentHashMap.newKeySet();
        for (Asked asked : all) {
            Row row = known.get(asked.witness.vkey());
            if (asked.isLeftAlone() || (row != null && row.getBoolean("is_left_alone"))) {
                continue;
            }
            long old = row == null ? 0 : Math.min(row.getLong("size"), offer.log.size());
            boolean wasPrompt = asked.prompt;
            long began = System.nanoTime();
            unanswered.add(asked);
            Uni<Void> answer = ask(asked, offer.log, offer.note, old, TRIES)
                    .invoke(said -> {
                        unanswered.remove(asked);
                        asked.prompt = System.nanoTime() - began < PROMPT.toNanos();
                    })
                    .chain(said -> take(asked, offer, said))
                    .onFailure()
                    .invoke(failure -> LOG.debugf(failure, "What %s said is lost", asked.witness.name()))
                    .onFailure()
                    .recoverWithNull()
                    .memoize()
                    .indefinitely();
            // What comes late is taken in, too: nobody's giving up ends this.
            answer.subscribe().with(done -> {});
            if (wasPrompt) {
                awaited.add(answer);
            }
        }
        return (awaited.isEmpty()
                        ? Uni.createFrom().voidItem()
                        : Uni.join().all(awaited).andFailFast().replaceWithVoid())
                .ifNoItem()
                .after(PROMPT)
                .recoverWithUni(() -> {
                    unanswered.forEach(asked -> asked.prompt = false);
                    return Uni.createFrom().voidItem();
                })
                .chain(() -> store(offer));
    }

    private Uni<Answer> ask(Asked asked, SignedLog log, Note note, long old, int tries) {
        return proof(log, old)
                .chain(proof -> asked.client.offer(old, proof, note, log.size()))
                .chain(said -> said instanceof Answer.HasOther other && other.size() <= log.size() && tries > 1
                        ? ask(asked, log, note, other.size(), tries - 1)
                        : Uni.createFrom().item(said));
    }

    /** A proof that holds, as far as this service can tell: so what a witness refuses is not for a tile that was misread. */
    private Uni<List<Hash>> proof(SignedLog log, long old) {
        if (old == 0 || old == log.size()) {
            return Uni.createFrom().item(List.of());
        }
        List<MerkleTree.Part> parts = new ArrayList<>(MerkleTree.consistency(old, log.size()));
        parts.add(MerkleTree.whole(old));
        return new TreeReader(reads, log.projectId()).hashes(parts, log.size()).map(hashes -> {
            List<Hash> proof = hashes.subList(0, hashes.size() - 1);
            Hash before = hashes.get(hashes.size() - 1);
            if (!MerkleTree.isConsistent(
                    old, before, log.size(), log.checkpoint().root(), proof)) {
                throw new DamagedLog("the tree of " + log.size() + " records does not begin with that of " + old);
            }
            return proof;
        });
    }

    private Uni<Void> take(Asked asked, Offer offer, Answer said) {
        SignedLog log = offer.log;
        asked.answered(!(said instanceof Answer.Failed));
        if (said instanceof Answer.Cosigned cosigned) {
            claim(asked, log, new Claim(log.size(), null));
            boolean isLate = offer.isLate(cosigned.line());
            return note(asked, log, log.size(), cosigned.at(), null, null)
                    .chain(() -> isLate ? store(offer) : Uni.createFrom().voidItem());
        }
        if (said instanceof Answer.HasOther other) {
            claim(asked, log, new Claim(other.size(), null));
            return error(asked, log, "it has cosigned " + other.size() + " records", null);
        }
        if (said instanceof Answer.Forked forked) {
            claim(asked, log, new Claim(0, forked.why()));
            return error(asked, log, forked.why(), null);
        }
        if (said instanceof Answer.Refused refused) {
            return error(asked, log, refused.why(), REFUSED);
        }
        if (said instanceof Answer.Failed failed) {
            if (asked.failures == 1) {
                LOG.warnf("The witness %s cannot be asked: %s", asked.witness.name(), failed.why());
            }
            return error(asked, log, failed.why(), null);
        }
        return Uni.createFrom().voidItem();
    }

    private Uni<Void> error(Asked asked, SignedLog log, String why, @Nullable Duration pause) {
        return note(asked, log, null, null, why, pause);
    }

    private void claim(Asked asked, SignedLog log, Claim claim) {
        claims.get(log.checkpoint().origin(), origin -> new ConcurrentHashMap<>())
                .merge(asked.witness, claim, Claim::later);
    }

    private Uni<Void> note(
            Asked asked,
            SignedLog log,
            @Nullable Long size,
            @Nullable Instant at,
            @Nullable String error,
            @Nullable Duration pause) {
        return NOTE_WITNESS
                .bind("project_id", log.projectId())
                .bind("witness", asked.witness.vkey())
                .bind("epoch", log.epoch())
                .bind("size", size)
                .bind("cosigned_at", at == null ? null : OffsetDateTime.ofInstant(at, ZoneOffset.UTC))
                .bind("error", error)
                .bind("retry", pause == null ? null : (double) pause.toSeconds())
                .execute(pool)
                .replaceWithVoid();
    }

    /** Stores a cosigned note where it is the newest one, and adds to it where it is the same. */
    private Uni<Void> store(Offer offer) {
        Note cosigned = offer.cosigned();
        if (cosigned == null) {
            return Uni.createFrom().voidItem();
        }
        SignedLog log = offer.log;
        return pool.withTransaction(connection -> LogTree.find(connection, List.of(log.projectId()))
                        .chain(states -> {
                            LogState state = states.get(log.projectId());
                            Note next = state == null ? null : next(state, log, cosigned);
                            return next == null
                                    ? Uni.createFrom().voidItem()
                                    : STORE_COSIGNED
                                            .bind("project_id", log.projectId())
                                            .bind("cosigned_size", log.size())
                                            .bind("cosigned", next.toString())
                                            .execute(connection);
                        }))
                .replaceWithVoid();
    }

    private @Nullable Note next(LogState state, SignedLog log, Note cosigned) {
        Note stored = state.cosigned() == null ? null : Note.parse(state.cosigned());
        Note next = stored != null && stored.text().equals(cosigned.text()) ? cosigned.and(stored) : cosigned;
        boolean isOlder = state.epoch() != log.epoch()
                || state.signedSize() < log.size()
                || (stored != null && Checkpoint.of(stored).size() > log.size());
        return isOlder || policy.cosigners(next).size() < Math.max(1, needed) ? null : trimmed(next);
    }

    /** Of each witness the newest line alone: a note that is cosigned again and again must not grow. */
    private Note trimmed(Note note) {
        List<String> lines = new ArrayList<>();
        for (String line : note.signatures()) {
            boolean isOlder = policy.witnesses().stream()
                    .anyMatch(witness -> witness.isOf(line)
                            && !witness.cosigned(note).equals(witness.cosigned(new Note(note.text(), List.of(line)))));
            if (!isOlder) {
                lines.add(line);
            }
        }
        return new Note(note.text(), lines);
    }

    /** What a log's reader gets to know of a witness. */
    record Seen(
            String name,
            String vkey,
            long size,
            @Nullable OffsetDateTime cosignedAt,
            @Nullable String error) {}

    /** What all witnesses have said of a log. */
    Uni<List<Seen>> of(UUID projectId, int epoch) {
        if (!any()) {
            return Uni.createFrom().item(List.of());
        }
        return DatabaseFailure.retried(
                        READ_WITNESSES.bind("project_id", projectId).execute(reads))
                .map(rows -> {
                    Map<String, Row> known = known(rows, epoch);
                    return all.stream()
                            .map(asked -> seen(asked.witness, known.get(asked.witness.vkey())))
                            .toList();
                });
    }

    private static Seen seen(Witness witness, @Nullable Row row) {
        return row == null
                ? new Seen(witness.name(), witness.vkey(), 0, null, null)
                : new Seen(
                        witness.name(),
                        witness.vkey(),
                        row.getLong("size"),
                        row.getOffsetDateTime("cosigned_at"),
                        row.getString("error"));
    }
}
