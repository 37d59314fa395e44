package dev.annals.tools.cli;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.follower.Page;
import dev.annals.proof.CanonicalJson;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.EpochKeys;
import dev.annals.proof.Hash;
import dev.annals.proof.LeafRecord;
import dev.annals.proof.PageProof;
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
 * A log for a reader that trusts only its key and the newest checkpoint it has seen. Each checkpoint has to continue the one before,
 * and each page has to match the checkpoint.
 */
final class FollowedLog {

    private static final int OLDER_TRIES = 20;
    /** The redactions of one record to read: each one removes at least one field. */
    private static final int MOST_EVENTS = 100;
    /** Redactions of many records often follow each other. */
    private static final int EVENT_PAGE = 256;

    private static final Duration BETWEEN_TRIES = Duration.ofMillis(500);

    private final Connection service;
    private final EpochKeys keys;
    private final WitnessPolicy policy;
    private final String path;
    private @Nullable Seen seen;
    /** The newest checkpoint that has proved annals.redact records. */
    private @Nullable Checkpoint ahead;

    private final RedactionEvents events = new RedactionEvents();
    private long redacted;

    /**
     * A page of a feed with its proof, not verified.
     *
     * @param page each record in the bytes that the service sent
     */
    record ProvedPage(Page<byte[]> page, PageProof proof) {

        static ProvedPage parse(byte[] body) {
            Page<byte[]> page = PageReader.parse(body);
            try {
                JsonNode proof = member(body);
                if (proof != null) {
                    return new ProvedPage(page, PageProof.parse(proof.toString()));
                }
            } catch (IOException | IllegalArgumentException e) {
                // reported below
            }
            throw new ClientFailure(
                    ClientFailure.FAILED, "The server at this URL sends a page without a proof. Check ANNALS_URL.");
        }

        // Reads this member alone: a tree of the page would lose digits of numbers, and could be too large.
        private static @Nullable JsonNode member(byte[] body) throws IOException {
            try (JsonParser json = Json.mapper().createParser(body)) {
                json.nextToken();
                while (json.nextToken() == JsonToken.FIELD_NAME) {
                    boolean found = json.currentName().equals("proof");
                    json.nextToken();
                    if (found) {
                        return json.readValueAsTree();
                    }
                    json.skipChildren();
                }
                return null;
            }
        }
    }

    /** A verified checkpoint with its note. */
    record Seen(String note, Checkpoint checkpoint) {}

    /**
     * @param keys of one log. If some belong to an earlier epoch, a checkpoint of that epoch is accepted, and the newest epoch has to
     *     continue it.
     * @param policy the witnesses that have to cosign each checkpoint
     * @throws ClientFailure if the keys belong to several logs
     */
    FollowedLog(Connection service, List<VerifierKey> keys, WitnessPolicy policy) {
        this.service = service;
        this.policy = policy;
        try {
            this.keys = EpochKeys.of(keys);
        } catch (IllegalArgumentException e) {
            throw new ClientFailure(
                    ClientFailure.USAGE,
                    "--vkey names no log of this service, or several logs. The name of a log ends with /log/ and a"
                            + " number.");
        }
        this.path = Connection.FEED + "/log/" + this.keys.epoch();
    }

    /** The keys that the service claims for its log. They are unconfirmed. */
    static List<VerifierKey> claimedKeys(Connection service) throws InterruptedException {
        List<VerifierKey> keys = new ArrayList<>();
        try {
            byte[] answer = service.send(service.request(Connection.FEED + "/log"), Duration.ZERO);
            for (JsonNode key : Json.mapper().readTree(answer).path("vkeys")) {
                keys.add(VerifierKey.parse(key.asText()));
            }
        } catch (IOException | IllegalArgumentException e) {
            throw new ClientFailure(
                    ClientFailure.FAILED, "The server at this URL has no log with keys. Check ANNALS_URL.");
        }
        if (keys.isEmpty()) {
            throw new ClientFailure(
                    ClientFailure.FAILED,
                    "This service has no key and proves nothing. Its operator creates a key with annals log keygen.");
        }
        return keys;
    }

    /**
     * Begins with a checkpoint of an earlier run.
     *
     * @throws IllegalArgumentException if it belongs to another log
     */
    void remember(String note) {
        seen = new Seen(note, Checkpoint.open(note, keys.known()));
    }

    /** Fetches the newest checkpoint, which has to continue the one before. */
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
            // The answering instance may be a moment behind the one that signed.
            if (tries == OLDER_TRIES && policy.needed() > 0) {
                throw new ClientFailure(
                        ClientFailure.FAILED,
                        "The newest checkpoint with enough witnesses has " + newest.checkpoint.size()
                                + " records, but this reader has seen one with " + seen.checkpoint.size()
                                + ". Try again when the witnesses have cosigned it.");
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
     * Fails if the service has ended the log and begun another one. Records that were read stay proved.
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
                            + ". The service continues with the log "
                            + log.path("origin").asText()
                            + ", which has another key. Ask the operator of the service for that key another way, and add it with --vkey: then"
                            + " the new log has to continue the checkpoint that you have.");
        } catch (IOException e) {
            throw new ClientFailure(
                    ClientFailure.FAILED, "The server at this URL has no log with keys. Check ANNALS_URL.");
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
                // an unreadable proof proves nothing
            }
        }
        try {
            after.requireContinues(before, proof);
        } catch (IllegalArgumentException e) {
            throw new ClientFailure(ClientFailure.FORKED, e.getMessage() + "." + keep());
        }
    }

    /**
     * Reads the page after a cursor, and verifies it against the checkpoint of the last {@link #advance}.
     *
     * @return a page with records
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
                throw new IllegalArgumentException("the page does not begin after record " + place(cursor)
                        + ", or does not end with its last record");
            }
            return records;
        } catch (IllegalArgumentException e) {
            throw new ClientFailure(
                    ClientFailure.FORKED,
                    "The records after record " + place(cursor) + " are not those of the log: " + e.getMessage() + "."
                            + keep());
        }
    }

    /** Requires an annals.redact record for each redacted value, and proves that record. */
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

    /** The sequence ids of the annals.redact records of a record. They are not proved yet. */
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
                        ClientFailure.FAILED, "The server at this URL has no records. Check ANNALS_URL.");
            }
            parameters.put("cursor", page.next());
        } while (parameters.get("cursor") != null && found.size() < MOST_EVENTS);
        found.removeIf(sequenceId -> sequenceId <= record.sequenceId());
        return found;
    }

    /** Proves a record and some later ones, and remembers the redactions in them. */
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

    /** A checkpoint that includes this record, and continues the one that proves pages. */
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
                                + " records does not include the record " + sequenceId
                                + " of the redaction. Try again.");
            } else {
                Thread.sleep(BETWEEN_TRIES.toMillis());
            }
        }
        return ahead;
    }

    /** The number of redacted values in the records that were read. */
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
            throw new ClientFailure(ClientFailure.FAILED, "The server at this URL has no records. Check ANNALS_URL.");
        }
    }

    /** The number of records before a cursor. */
    static long place(String cursor) {
        return Long.parseLong(cursor.replaceFirst("-.*", ""));
    }
}
