package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.follower.Page;
import dev.annals.proof.CanonicalJson;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.EpochKeys;
import dev.annals.proof.Hash;
import dev.annals.proof.LeafRecord;
import dev.annals.proof.ProvedRecord;
import dev.annals.proof.RedactionEvent;
import dev.annals.proof.RedactionEvents;
import dev.annals.proof.VerifierKey;
import dev.annals.proof.WitnessPolicy;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A log as a reader follows it who trusts its key and the newest checkpoint that it has seen, and nothing else: each checkpoint
 * has to continue the one before, and each page has to be what the checkpoint says.
 */
final class FollowedLog {

    private static final int OLDER_TRIES = 20;
    /** How many redactions of one record are looked at: each takes at least one field. */
    private static final int MOST_EVENTS = 100;
    /** Redactions of many records come one behind the other. */
    private static final int EVENT_PAGE = 256;

    private static final Duration BETWEEN_TRIES = Duration.ofMillis(500);

    private final Connection service;
    private final EpochKeys keys;
    private final WitnessPolicy policy;
    private final String path;
    private @Nullable Seen seen;
    /** The newest checkpoint by which records were proved that say what was redacted. */
    private @Nullable Checkpoint ahead;

    private final RedactionEvents events = new RedactionEvents();
    private long redacted;

    /** A checkpoint that was verified, with its note. */
    record Seen(String note, Checkpoint checkpoint) {}

    /**
     * A log of which these are the keys. Where some are of an earlier epoch of the log, a checkpoint of that one is known as well, and the
     * newest epoch has to continue it.
     *
     * @param policy which witnesses have to have cosigned each checkpoint
     * @throws ClientFailure if they are not those of one log
     */
    FollowedLog(Connection service, List<VerifierKey> keys, WitnessPolicy policy) {
        this.service = service;
        this.policy = policy;
        try {
            this.keys = EpochKeys.of(keys);
        } catch (IllegalArgumentException e) {
            throw new ClientFailure(
                    ClientFailure.USAGE,
                    "--vkey names no log of this service, or not always the same one: its name ends with /log/ and a"
                            + " number.");
        }
        this.path = Connection.FEED + "/log/" + this.keys.epoch();
    }

    /** The keys that the service says are those of its log: nobody has confirmed them. */
    static List<VerifierKey> claimedKeys(Connection service) throws InterruptedException {
        List<VerifierKey> keys = new ArrayList<>();
        try {
            byte[] answer = service.send(service.request(Connection.FEED + "/log"), Duration.ZERO);
            for (JsonNode key : Json.mapper().readTree(answer).path("vkeys")) {
                keys.add(VerifierKey.parse(key.asText()));
            }
        } catch (IOException | IllegalArgumentException e) {
            throw new ClientFailure(
                    ClientFailure.FAILED, "What answers at this URL has no log with keys. Check ANNALS_URL.");
        }
        if (keys.isEmpty()) {
            throw new ClientFailure(
                    ClientFailure.FAILED,
                    "This service has no key, and so proves nothing: its operator makes one with annals log keygen.");
        }
        return keys;
    }

    /**
     * Begins with a checkpoint that was seen earlier.
     *
     * @throws IllegalArgumentException if it is not one of this log
     */
    void remember(String note) {
        seen = new Seen(note, Checkpoint.open(note, keys.known()));
    }

    /** Takes the newest checkpoint, which continues the one before. */
    Seen advance() throws InterruptedException {
        for (int tries = 1; ; tries++) {
            Seen newest = newest();
            if (seen == null || newest.checkpoint.size() >= seen.checkpoint.size()) {
                if (seen != null) {
                    requireContinued(seen.checkpoint, newest.checkpoint);
                }
                seen = newest;
                return newest;
            }
            // Another instance may be a moment behind the one that signed.
            if (tries == OLDER_TRIES && policy.needed() > 0) {
                throw new ClientFailure(
                        ClientFailure.FAILED,
                        "The newest checkpoint that enough witnesses have cosigned has " + newest.checkpoint.size()
                                + " records, and one with " + seen.checkpoint.size()
                                + " was seen before. Try again when the witnesses have seen as much.");
            }
            if (tries == OLDER_TRIES) {
                throw new ClientFailure(
                        ClientFailure.FORKED,
                        "The log has " + newest.checkpoint.size() + " records, and had " + seen.checkpoint.size()
                                + ": its end was lost." + keep());
            }
            Thread.sleep(BETWEEN_TRIES.toMillis());
        }
    }

    /**
     * Fails where the service has ended the log, which grows no more, and has begun another one. All that was read of it stays proved.
     */
    void requireThatItGoesOn() throws InterruptedException {
        try {
            byte[] answer = service.send(service.request(Connection.FEED + "/log"), Duration.ZERO);
            JsonNode log = Json.mapper().readTree(answer);
            if (log.path("epoch").asInt() == keys.epoch()) {
                return;
            }
            String why = "for a reason that the service does not say";
            for (JsonNode ended : log.path("epochs")) {
                if (ended.path("epoch").asInt() == keys.epoch()) {
                    why = ended.path("reason").asText();
                }
            }
            throw new ClientFailure(
                    ClientFailure.ENDED,
                    "The log " + keys.newest().get(0).name() + " has ended"
                            + (seen == null ? "" : " with " + seen.checkpoint.size() + " records") + ": " + why
                            + ". The service goes on with the log "
                            + log.path("origin").asText()
                            + ", which has another key. Ask who runs the service, another way, and add that key with --vkey: then"
                            + " the new log has to continue the checkpoint that you have.");
        } catch (IOException e) {
            throw new ClientFailure(
                    ClientFailure.FAILED, "What answers at this URL has no log with keys. Check ANNALS_URL.");
        }
    }

    private static String keep() {
        return " Keep the checkpoints that you have, and ask the operator of the service.";
    }

    private Seen newest() throws InterruptedException {
        String query = policy.needed() == 0 ? "" : "?witnesses=" + policy.needed();
        String note = new String(
                service.send(service.request(path + "/checkpoint" + query), Duration.ZERO), StandardCharsets.UTF_8);
        try {
            Seen newest = new Seen(note, Checkpoint.open(note, keys.newest()));
            policy.require(note);
            return newest;
        } catch (IllegalArgumentException e) {
            throw new ClientFailure(
                    ClientFailure.FORKED, "The newest checkpoint cannot be trusted: " + e.getMessage() + "." + keep());
        }
    }

    private void requireContinued(Checkpoint before, Checkpoint after) throws InterruptedException {
        List<Hash> proof = List.of();
        if (before.size() > 0 && before.size() < after.size()) {
            byte[] answer = service.send(
                    service.request(Connection.FEED + "/log/consistency?from=" + before.size() + "&to=" + after.size()),
                    Duration.ZERO);
            try {
                proof = Hash.list(CanonicalJson.members(new String(answer, StandardCharsets.UTF_8))
                        .get("hashes"));
            } catch (IllegalArgumentException e) {
                // what is no proof proves nothing
            }
        }
        try {
            after.requireContinues(before, proof);
        } catch (IllegalArgumentException e) {
            throw new ClientFailure(ClientFailure.FORKED, e.getMessage() + "." + keep());
        }
    }

    /**
     * Reads a page behind a cursor, and verifies it against the checkpoint of the last {@link #advance}.
     *
     * @return it has records
     */
    ProvedPage page(String cursor, int limit) throws InterruptedException {
        if (seen == null) {
            throw new IllegalStateException("no checkpoint was seen");
        }
        ProvedPage page = ask(cursor, limit, seen.checkpoint);
        List<ProvedRecord> records = verified(page, cursor, seen.checkpoint);
        for (ProvedRecord record : records) {
            requireNamed(record);
        }
        return page;
    }

    private ProvedPage ask(String cursor, int limit, Checkpoint pinned) throws InterruptedException {
        return ProvedPage.parse(service.send(
                service.request(Connection.FEED + "?cursor=" + cursor + "&limit=" + limit + "&proof=" + pinned.size()),
                Duration.ZERO));
    }

    private static List<ProvedRecord> verified(ProvedPage page, String cursor, Checkpoint pinned) {
        try {
            List<ProvedRecord> records = page.proof()
                    .verified(
                            page.page().records().stream()
                                    .map(record -> new String(record, StandardCharsets.UTF_8))
                                    .toList(),
                            pinned);
            if (records.isEmpty()
                    || page.proof().start() != place(cursor)
                    || page.proof().end() != place(page.page().behind())) {
                throw new IllegalArgumentException("the page does not begin behind record " + place(cursor)
                        + ", or does not go on behind its last one");
            }
            return records;
        } catch (IllegalArgumentException e) {
            throw new ClientFailure(
                    ClientFailure.FORKED,
                    "The records behind record " + place(cursor) + " are not those of the log: " + e.getMessage() + "."
                            + keep());
        }
    }

    /** Requires of each value that is gone from a record that a record of the log says so, and proves that one. */
    private void requireNamed(ProvedRecord proved) throws InterruptedException {
        redacted += proved.redacted().size();
        Set<String> open = events.unnamed(proved);
        Iterator<Long> left = (open.isEmpty() ? List.<Long>of() : eventsAbout(proved.record())).iterator();
        while (!open.isEmpty() && left.hasNext()) {
            nameBehind(left.next());
            open.retainAll(events.unnamed(proved));
        }
        if (!open.isEmpty()) {
            throw new ClientFailure(ClientFailure.FORKED, RedactionEvents.finding(proved, open) + "." + keep());
        }
    }

    /** The sequence ids of the records that say that something of a record was redacted; nothing proves them yet. */
    private List<Long> eventsAbout(LeafRecord record) throws InterruptedException {
        List<Long> found = new ArrayList<>();
        Map<String, @Nullable String> parameters = new LinkedHashMap<>();
        parameters.put("action", RedactionEvent.ACTION);
        parameters.put("subject", record.id());
        do {
            Page<byte[]> page = PageReader.parse(
                    service.send(service.request(Connection.FEED + Connection.query(parameters)), Duration.ZERO));
            try {
                for (byte[] event : page.records()) {
                    found.add(Json.mapper().readTree(event).path("sequence_id").asLong());
                }
            } catch (IOException e) {
                throw new ClientFailure(
                        ClientFailure.FAILED, "What answers at this URL has no records. Check ANNALS_URL.");
            }
            parameters.put("cursor", page.next());
        } while (parameters.get("cursor") != null && found.size() < MOST_EVENTS);
        found.removeIf(sequenceId -> sequenceId <= record.sequenceId());
        return found;
    }

    /** Proves a record and some behind it, and remembers what they say was redacted. */
    private void nameBehind(long sequenceId) throws InterruptedException {
        Checkpoint newest = atLeast(sequenceId);
        String cursor = Long.toString(sequenceId - 1);
        List<ProvedRecord> records = verified(ask(cursor, EVENT_PAGE, newest), cursor, newest);
        try {
            events.add(records);
        } catch (IllegalArgumentException e) {
            throw new ClientFailure(ClientFailure.FORKED, "In the log, " + e.getMessage() + "." + keep());
        }
    }

    /** A checkpoint with this record, which continues the one that was seen. That one stays: pages are proved by it. */
    private Checkpoint atLeast(long sequenceId) throws InterruptedException {
        Seen known = Objects.requireNonNull(seen);
        if (ahead == null || ahead.size() < known.checkpoint.size()) {
            ahead = known.checkpoint;
        }
        for (int tries = 1; ahead.size() < sequenceId; tries++) {
            Checkpoint newest = newest().checkpoint;
            if (newest.size() >= sequenceId) {
                requireContinued(ahead, newest);
                ahead = newest;
            } else if (tries == OLDER_TRIES) {
                throw new ClientFailure(
                        ClientFailure.UNNAMED,
                        "Values were redacted just now, and the newest checkpoint of " + newest.size()
                                + " records does not have record " + sequenceId + " yet, which says so. Try again.");
            } else {
                Thread.sleep(BETWEEN_TRIES.toMillis());
            }
        }
        return ahead;
    }

    /** How many values are gone from the records that were read. */
    long redacted() {
        return redacted;
    }

    /** The cursor before the oldest record that has not expired. */
    String beginning() throws InterruptedException {
        Page<byte[]> first =
                PageReader.parse(service.send(service.request(Connection.FEED + "?limit=1"), Duration.ZERO));
        if (first.records().isEmpty()) {
            return first.behind();
        }
        try {
            JsonNode oldest = Json.mapper().readTree(first.records().get(0));
            return Long.toString(oldest.path("sequence_id").asLong(1) - 1);
        } catch (IOException e) {
            throw new ClientFailure(ClientFailure.FAILED, "What answers at this URL has no records. Check ANNALS_URL.");
        }
    }

    /** How many records are before a cursor. */
    static long place(String cursor) {
        return Long.parseLong(cursor.replaceFirst("-.*", ""));
    }
}
