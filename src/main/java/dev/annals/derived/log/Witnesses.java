package dev.annals.derived.log;

import dev.annals.access.places.Places;
import dev.annals.derived.log.WitnessClient.Answer;
import dev.annals.derived.log.WitnessMemory.Entry;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.proof.Hash;
import dev.annals.proof.Note;
import dev.annals.proof.WitnessPolicy;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.ShutdownEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Inject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Asks the witnesses of this service's logs to cosign checkpoints. {@link WitnessClient} makes one call, {@link WitnessMemory} remembers
 * the answers, {@link WitnessRounds} offers logs that have no readers.
 *
 * <p>An offer is sent to all witnesses at once, except those that are backing off. It waits at most {@link #PROMPT} for those that answered
 * promptly the last time. Later answers are stored, too.
 */
@ApplicationScoped
public class Witnesses {

    private static final Logger LOG = Logger.getLogger(Witnesses.class);
    private static final Duration PROMPT = Duration.ofSeconds(1);

    /** The witness writes to its disk, and a reader waits. */
    static final Duration TIMEOUT = Duration.ofSeconds(5);

    /** Another instance may offer the same log at the same time. */
    private static final int TRIES = 3;

    private final Places places;
    private final int needed;
    private final WitnessPolicy policy;
    private final List<WitnessClient> clients;
    private final WitnessMemory memory;

    @Inject
    Witnesses(LogConfig config, Places places, Vertx vertx, MeterRegistry metrics) {
        this(config, TIMEOUT, places, vertx, metrics);
    }

    Witnesses(LogConfig config, Duration timeout, Places places, Vertx vertx, MeterRegistry metrics) {
        this.places = places;
        this.needed = config.witnessesNeeded();
        this.clients = Witness.of(config).stream()
                .map(witness -> new WitnessClient(witness, vertx, timeout))
                .toList();
        this.policy = new WitnessPolicy(
                clients.stream().map(client -> client.witness().key()).toList(), needed);
        this.memory = new WitnessMemory(places, policy, needed);
        Gauge.builder("annals.log.witnesses.failing", () -> failing().size())
                .description("Witnesses that have not answered this instance the last time")
                .register(metrics);
    }

    void stop(@Observes ShutdownEvent event) {
        clients.forEach(WitnessClient::close);
    }

    WitnessMemory memory() {
        return memory;
    }

    boolean any() {
        return !clients.isEmpty();
    }

    /** The cosignatures of a checkpoint, unless the reader asks for another number. */
    int needed() {
        return needed;
    }

    /** The keys of those that are not backing off. */
    List<String> available() {
        return clients.stream()
                .filter(client -> !client.isBackingOff())
                .map(client -> client.witness().vkey())
                .toList();
    }

    /** The names of those whose last call failed. */
    List<String> failing() {
        return clients.stream()
                .filter(WitnessClient::isFailing)
                .map(client -> client.witness().name())
                .toList();
    }

    int cosigners(String note) {
        try {
            return policy.cosigners(Note.parse(note)).size();
        } catch (IllegalArgumentException e) {
            return 0;
        }
    }

    /** A checkpoint on offer, with the cosignatures that have arrived. Once those are stored, each later one stores them again. */
    private static final class Offer {

        final SignedLog log;
        final Note note;
        private final List<String> lines = new ArrayList<>();
        private boolean isStored;

        Offer(SignedLog log) {
            this.log = log;
            this.note = Note.parse(log.note());
        }

        /** Returns whether earlier lines are already stored. */
        synchronized boolean add(String line) {
            lines.add(line);
            return isStored;
        }

        /** The note with all lines, to be stored; null if there are none. */
        synchronized @Nullable Note store() {
            isStored = true;
            return lines.isEmpty() ? null : note.and(new Note(note.text(), List.copyOf(lines)));
        }
    }

    /**
     * Also stores the cosignatures.
     *
     * @return completes when the prompt witnesses have answered; never fails
     */
    Uni<Void> offer(SignedLog log) {
        memory.wasAsked(log.projectId());
        return memory.read(log.projectId(), log.epoch())
                .chain(entries -> offer(new Offer(log), entries))
                .onFailure()
                .invoke(failure -> LOG.debugf(failure, "The log of project %s is not offered", log.projectId()))
                .onFailure()
                .recoverWithNull();
    }

    private Uni<Void> offer(Offer offer, Map<String, Entry> entries) {
        List<Uni<Void>> awaited = new ArrayList<>();
        Set<WitnessClient> unanswered = ConcurrentHashMap.newKeySet();
        for (WitnessClient client : clients) {
            Entry entry = entries.getOrDefault(client.witness().vkey(), Entry.NONE);
            if (client.isBackingOff() || entry.isLeftAlone()) {
                continue;
            }
            long old = Math.min(entry.size(), offer.log.size());
            boolean wasPrompt = client.prompt;
            long began = System.nanoTime();
            unanswered.add(client);
            Uni<Void> answered = ask(client, offer.log, offer.note, old, TRIES)
                    .invoke(answer -> {
                        unanswered.remove(client);
                        client.prompt = System.nanoTime() - began < PROMPT.toNanos();
                    })
                    .chain(answer -> accept(client, offer, answer))
                    .onFailure()
                    .invoke(failure -> LOG.debugf(
                            failure,
                            "The answer of %s is lost",
                            client.witness().name()))
                    .onFailure()
                    .recoverWithNull()
                    .memoize()
                    .indefinitely();
            // A subscription of its own: a late answer is stored though the offer has ended.
            answered.subscribe().with(done -> {});
            if (wasPrompt) {
                awaited.add(answered);
            }
        }
        return (awaited.isEmpty()
                        ? Uni.createFrom().voidItem()
                        : Uni.join().all(awaited).andFailFast().replaceWithVoid())
                .ifNoItem()
                .after(PROMPT)
                .recoverWithUni(() -> {
                    unanswered.forEach(client -> client.prompt = false);
                    return Uni.createFrom().voidItem();
                })
                .chain(() -> store(offer));
    }

    /** Asks again if the witness has cosigned another size than this service knew. */
    private Uni<Answer> ask(WitnessClient client, SignedLog log, Note note, long old, int tries) {
        return proof(log, old)
                .chain(proof -> client.offer(old, proof, note, log.size()))
                .chain(answer -> answer instanceof Answer.HasOther other && other.size() <= log.size() && tries > 1
                        ? ask(client, log, note, other.size(), tries - 1)
                        : Uni.createFrom().item(answer));
    }

    /** Verifies the proof here first: a damaged tile must not look like a refusal. */
    private Uni<List<Hash>> proof(SignedLog log, long old) {
        return old == 0 || old == log.size()
                ? Uni.createFrom().item(List.of())
                : new TreeReader(places.of(log.projectId()).reads(), log.projectId())
                        .consistency(old, log.checkpoint())
                        .map(TreeReader.Consistency::proof);
    }

    private Uni<Void> accept(WitnessClient client, Offer offer, Answer answer) {
        boolean storeAgain = answer instanceof Answer.Cosigned cosigned && offer.add(cosigned.line());
        return memory.note(client.witness(), offer.log, answer)
                .chain(() -> storeAgain ? store(offer) : Uni.createFrom().voidItem());
    }

    private Uni<Void> store(Offer offer) {
        Note cosigned = offer.store();
        return cosigned == null ? Uni.createFrom().voidItem() : memory.store(offer.log, cosigned);
    }

    record Seen(Witness witness, Entry entry) {}

    Uni<List<Seen>> of(UUID projectId, int epoch) {
        if (!any()) {
            return Uni.createFrom().item(List.of());
        }
        return DatabaseFailure.retried(memory.read(projectId, epoch))
                .map(entries -> clients.stream()
                        .map(WitnessClient::witness)
                        .map(witness -> new Seen(witness, entries.getOrDefault(witness.vkey(), Entry.NONE)))
                        .toList());
    }
}
