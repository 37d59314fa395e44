package dev.annals.derived.log;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.access.places.Places;
import dev.annals.derived.log.WitnessClient.Answer;
import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.Sql;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.Note;
import dev.annals.proof.WitnessPolicy;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Row;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Remembers the answers of witnesses. This instance holds their claims in memory, because a restored database may lack them. The database
 * holds what instances share: the size that each witness has cosigned, its last error, and the newest note that enough witnesses have
 * cosigned.
 */
final class WitnessMemory {

    private static final Sql READ_WITNESSES = Sql.named("derived/log/read_witnesses");
    private static final Sql NOTE_WITNESS = Sql.named("derived/log/note_witness");
    private static final Sql STORE_COSIGNED = Sql.named("derived/log/store_cosigned");
    /** Younger answers suffice to sign more of a log. */
    private static final Duration FRESH = Duration.ofMinutes(1);
    /** The pause after a witness has refused a log. */
    private static final Duration REFUSED = Duration.ofMinutes(1);

    private static final int MAX_LOGS = 10_000;

    private final Places places;
    private final WitnessPolicy policy;
    private final int needed;
    private final Cache<UUID, Boolean> asked =
            Caffeine.newBuilder().maximumSize(MAX_LOGS).expireAfterWrite(FRESH).build();
    /** By the origin of the log. */
    private final Cache<String, Map<Witness, Claim>> claims =
            Caffeine.newBuilder().maximumSize(MAX_LOGS).build();

    WitnessMemory(Places places, WitnessPolicy policy, int needed) {
        this.places = places;
        this.policy = policy;
        this.needed = needed;
    }

    /**
     * @param size the largest that the witness has cosigned
     * @param fork why the witness says that the log is forked
     */
    private record Claim(long size, @Nullable String fork) {

        Claim and(Claim later) {
            return new Claim(Math.max(size, later.size), later.fork == null ? fork : later.fork);
        }

        @Nullable
        String objection(long signedSize) {
            if (fork != null) {
                return fork;
            }
            return size > signedSize
                    ? "it has cosigned " + size + " records, and the database knows of " + signedSize
                            + ", so this was set back"
                    : null;
        }
    }

    /**
     * The row of a witness in the database.
     *
     * @param size the largest that it has cosigned
     * @param isLeftAlone whether it has refused the log a moment ago
     */
    record Entry(
            long size,
            @Nullable OffsetDateTime cosignedAt,
            @Nullable String error,
            boolean isLeftAlone) {

        static final Entry NONE = new Entry(0, null, null, false);
    }

    /** By the key of the witness. */
    Uni<Map<String, Entry>> read(UUID projectId, int epoch) {
        return places.on(
                        projectId,
                        database -> READ_WITNESSES.bind("project_id", projectId).execute(database.reads()))
                .map(rows -> {
                    Map<String, Entry> entries = new HashMap<>();
                    for (Row row : rows) {
                        if (row.getInteger("epoch") == epoch) {
                            entries.put(
                                    row.getString("witness"),
                                    new Entry(
                                            row.getLong("size"),
                                            row.getOffsetDateTime("cosigned_at"),
                                            row.getString("error"),
                                            row.getBoolean("is_left_alone")));
                        }
                    }
                    return entries;
                });
    }

    void wasAsked(UUID projectId) {
        asked.put(projectId, true);
    }

    boolean isFresh(UUID projectId) {
        return asked.getIfPresent(projectId) != null;
    }

    /**
     * The reason for which a witness objects to signing a log. It is then forgotten: once an operator has resumed the log, witnesses are
     * asked again.
     *
     * @param signedSize of the newest note
     */
    Optional<String> objection(UUID projectId, String origin, long signedSize) {
        for (Map.Entry<Witness, Claim> claim :
                claims.get(origin, log -> new ConcurrentHashMap<>()).entrySet()) {
            String reason = claim.getValue().objection(signedSize);
            if (reason != null) {
                claims.invalidate(origin);
                asked.invalidate(projectId);
                return Optional.of("the witness " + claim.getKey().name() + " objects: " + reason);
            }
        }
        return Optional.empty();
    }

    Uni<Void> note(Witness witness, SignedLog log, Answer answer) {
        if (answer instanceof Answer.Cosigned cosigned) {
            claim(witness, log, new Claim(log.size(), null));
            return note(witness, log, log.size(), cosigned.at(), null, null);
        } else if (answer instanceof Answer.HasOther other) {
            claim(witness, log, new Claim(other.size(), null));
            return note(witness, log, null, null, "it has cosigned " + other.size() + " records", null);
        } else if (answer instanceof Answer.Forked forked) {
            claim(witness, log, new Claim(0, forked.why()));
            return note(witness, log, null, null, forked.why(), null);
        } else if (answer instanceof Answer.Refused refused) {
            return note(witness, log, null, null, refused.why(), REFUSED);
        } else if (answer instanceof Answer.Failed failed) {
            return note(witness, log, null, null, failed.why(), null);
        }
        return Uni.createFrom().voidItem();
    }

    private void claim(Witness witness, SignedLog log, Claim claim) {
        claims.get(log.checkpoint().origin(), origin -> new ConcurrentHashMap<>())
                .merge(witness, claim, Claim::and);
    }

    private Uni<Void> note(
            Witness witness,
            SignedLog log,
            @Nullable Long size,
            @Nullable Instant at,
            @Nullable String error,
            @Nullable Duration pause) {
        Binds noted = NOTE_WITNESS
                .bind("project_id", log.projectId())
                .bind("witness", witness.vkey())
                .bind("epoch", log.epoch())
                .bind("size", size)
                .bind("cosigned_at", at == null ? null : OffsetDateTime.ofInstant(at, ZoneOffset.UTC))
                .bind("error", error)
                .bind("retry", pause == null ? null : (double) pause.toSeconds());
        return places.on(log.projectId(), database -> noted.execute(database.pool()))
                .replaceWithVoid();
    }

    /** Stores a cosigned note if it is the newest one, and adds its lines to a stored one of the same checkpoint. */
    Uni<Void> store(SignedLog log, Note cosigned) {
        UUID projectId = log.projectId();
        return places.on(
                projectId,
                database -> database.pool()
                        .withTransaction(connection -> LogState.lockExisting(connection, List.of(projectId))
                                .chain(states -> {
                                    LogState state = states.get(projectId);
                                    Note next = state == null ? null : next(state, log, cosigned);
                                    return next == null
                                            ? Uni.createFrom().voidItem()
                                            : STORE_COSIGNED
                                                    .bind("project_id", projectId)
                                                    .bind("cosigned_size", log.size())
                                                    .bind("cosigned", next.toString())
                                                    .execute(connection)
                                                    .replaceWithVoid();
                                })));
    }

    private @Nullable Note next(LogState state, SignedLog log, Note cosigned) {
        Note stored = state.cosigned() == null ? null : Note.parse(state.cosigned());
        Note next = stored != null && stored.text().equals(cosigned.text()) ? cosigned.and(stored) : cosigned;
        boolean isOlder = state.epoch() != log.epoch()
                || state.signedSize() < log.size()
                || (stored != null && Checkpoint.of(stored).size() > log.size());
        return isOlder || policy.cosigners(next).size() < Math.max(1, needed) ? null : newestLines(next);
    }

    /** Keeps the newest line of each witness: a note must not grow with each cosignature. */
    private Note newestLines(Note note) {
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
}
