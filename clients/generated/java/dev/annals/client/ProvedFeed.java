package dev.annals.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import dev.annals.client.model.AuditRecord;
import dev.annals.follower.Page;
import dev.annals.follower.Unavailable;
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
import jakarta.annotation.Nullable;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The pages of a feed whose log's key is known. Each checkpoint must continue the one before, and each page must match the
 * checkpoint. Records come from the text that was proved. Not for several threads.
 */
final class ProvedFeed {
    private static final String FEED = "/v1/project-logs";
    private static final int LIMIT = 1_000;
    private static final int EVENTS = 256;
    private static final Pattern CURSOR = Pattern.compile("(?:^|&)cursor=([0-9a-f-]+)");
    private static final int WAIT_SECONDS = 30;
    private static final Duration ANSWER = Duration.ofSeconds(60);
    private static final int OLDER_TRIES = 20;
    private static final Duration BETWEEN_TRIES = Duration.ofMillis(500);

    private final ApiClient client;
    private final EpochKeys keys;
    /** The newest checkpoint that was verified. */
    @Nullable
    private Seen seen;

    private final RedactionEvents events = new RedactionEvents();
    /** Whether the service may lack records of the newest checkpoint. */
    private boolean isBehind = true;

    private record Seen(String note, Checkpoint checkpoint) {
        static Seen open(String note, List<VerifierKey> keys) {
            return new Seen(note, Checkpoint.open(note, keys));
        }

        long size() {
            return checkpoint.size();
        }
    }

    private record ProvedPage(List<ProvedRecord> records, Page<AuditRecord> page) {}

    ProvedFeed(ApiClient client, @Nullable String checkpoint, List<String> vkeys) {
        this.client = client;
        this.keys = EpochKeys.of(vkeys.stream().map(VerifierKey::parse).toList());
        // The newest epoch continues a checkpoint of an earlier one, or the log is forked.
        this.seen = checkpoint == null ? null : Seen.open(checkpoint, keys.known());
    }

    /** The note of the newest checkpoint that was verified; null before there is any. */
    @Nullable
    String checkpoint() {
        return seen == null ? null : seen.note();
    }

    /** The page after a cursor. It is empty if no further record can be proved after a while. */
    Page<AuditRecord> read(@Nullable String cursor)
            throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        long place = cursor == null ? 0 : place(cursor);
        Checkpoint log = seen == null || isBehind || place >= seen.size() ? advance() : seen.checkpoint();
        if (place >= log.size()) {
            awaitMore(cursor);
            log = advance();
        }
        if (place >= log.size()) {
            requireThatItGoesOn();
            return new Page<>(List.of(), null, "?cursor=" + (cursor == null ? "0" : cursor));
        }
        return page(cursor, place, log);
    }

    private Page<AuditRecord> page(@Nullable String cursor, long place, Checkpoint log)
            throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        // If the service cannot prove a page of this size, the next request asks for the newest checkpoint again.
        isBehind = true;
        ProvedPage proved = proved(cursor, place, LIMIT, log);
        for (ProvedRecord record : proved.records()) {
            requireNamed(record);
        }
        isBehind = false;
        return proved.page();
    }

    private ProvedPage proved(@Nullable String cursor, long place, int limit, Checkpoint log)
            throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        String from = cursor == null ? "" : "&cursor=" + cursor;
        String body = get(FEED + "?limit=" + limit + "&proof=" + log.size() + from, ANSWER);
        try {
            SortedMap<String, String> page = CanonicalJson.members(body);
            PageProof proof = PageProof.parse(page.get("proof"));
            List<String> texts = CanonicalJson.elements(page.getOrDefault("results", ""));
            List<ProvedRecord> records = proof.verified(texts, log);
            // Without a cursor, the page begins with the oldest record that has not expired.
            if (records.isEmpty() && proof.start() < log.size() || cursor != null && proof.start() != place) {
                throw new IllegalArgumentException("the page does not begin behind record " + place);
            }
            Page<AuditRecord> read = new Page<>(read(texts), text(page, "next"), text(page, "poll_more"));
            if (proof.end() != place(read.behind())) {
                throw new IllegalArgumentException("the page does not go on behind its last one");
            }
            return new ProvedPage(records, read);
        } catch (IllegalArgumentException e) {
            throw notOfTheLog(place, e);
        }
    }

    private static FeedNotProvedException notOfTheLog(long place, IllegalArgumentException why) {
        return new FeedNotProvedException(
                "The records behind record " + place + " are not those of the log: " + why.getMessage(), why);
    }

    /** Requires for each value removed from a record that a proved record of the log reports the redaction. */
    private void requireNamed(ProvedRecord record)
            throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        Set<String> open = events.unnamed(record);
        Iterator<Long> left = (open.isEmpty() ? List.<Long>of() : eventsAbout(record.record())).iterator();
        while (!open.isEmpty() && left.hasNext()) {
            long event = left.next();
            if (seen.size() < event && advance().size() < event) {
                requireThatItGoesOn();
                throw new Unavailable("the log does not have the record " + event + " yet", null, null);
            }
            // Redactions of many records follow each other.
            ProvedPage page = proved(Long.toString(event - 1), event - 1, EVENTS, seen.checkpoint());
            try {
                events.add(page.records());
            } catch (IllegalArgumentException e) {
                throw notOfTheLog(event - 1, e);
            }
            open.retainAll(events.unnamed(record));
        }
        if (!open.isEmpty()) {
            throw new FeedNotProvedException(RedactionEvents.finding(record, open));
        }
    }

    /** The sequence ids of the records that report redactions of a record. They are not proved yet. */
    private List<Long> eventsAbout(LeafRecord record)
            throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        List<Long> found = new ArrayList<>();
        String cursor = "";
        while (cursor != null && found.size() < EVENTS) {
            String body = get(FEED + "?action=" + RedactionEvent.ACTION + "&subject=" + record.id() + cursor, ANSWER);
            try {
                SortedMap<String, String> page = CanonicalJson.members(body);
                for (String event : CanonicalJson.elements(page.getOrDefault("results", "[]"))) {
                    found.add(CanonicalJson.natural(CanonicalJson.members(event).get("sequence_id")));
                }
                String next = page.getOrDefault("next", "null");
                String query = next.equals("null")
                        ? null
                        : URI.create(CanonicalJson.string(next)).getRawQuery();
                Matcher behind = CURSOR.matcher(query == null ? "" : query);
                cursor = behind.find() ? "&cursor=" + behind.group(1) : null;
            } catch (IllegalArgumentException e) {
                throw new FeedNotProvedException("The answer has no records: " + e.getMessage(), e);
            }
        }
        found.removeIf(sequenceId -> sequenceId <= record.sequenceId());
        return found;
    }

    private List<AuditRecord> read(List<String> texts) {
        List<AuditRecord> records = new ArrayList<>();
        for (String record : texts) {
            try {
                records.add(client.getObjectMapper().readValue(record, AuditRecord.class));
            } catch (JsonProcessingException e) {
                throw new IllegalArgumentException(e.getOriginalMessage(), e);
            }
        }
        return records;
    }

    @Nullable
    private static String text(SortedMap<String, String> page, String member) {
        String value = page.get(member);
        return value == null || value.equals("null") ? null : CanonicalJson.string(value);
    }

    /** The number of records before a cursor. */
    private static long place(String cursor) {
        return CanonicalJson.natural(cursor.replaceFirst("-.*", ""));
    }

    /** Reads the newest checkpoint and requires that it continues the one before. */
    private Checkpoint advance() throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        for (int tries = 1; ; tries++) {
            Seen newest = newest();
            if (seen == null || newest.size() >= seen.size()) {
                if (seen != null) {
                    requireContinued(seen.checkpoint(), newest.checkpoint());
                }
                seen = newest;
                isBehind = false;
                return newest.checkpoint();
            }
            // Another instance may be a moment behind the one that signed.
            if (tries == OLDER_TRIES) {
                throw new FeedNotProvedException(
                        "The log has " + newest.size() + " records, and had " + seen.size() + ": its end was lost");
            }
            Thread.sleep(BETWEEN_TRIES.toMillis());
        }
    }

    private Seen newest() throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        String note = get(FEED + "/log/" + keys.epoch() + "/checkpoint", ANSWER);
        try {
            return Seen.open(note, keys.newest());
        } catch (IllegalArgumentException e) {
            throw new FeedNotProvedException("The newest checkpoint cannot be trusted: " + e.getMessage(), e);
        }
    }

    private void requireContinued(Checkpoint before, Checkpoint after)
            throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        List<Hash> proof = List.of();
        if (before.size() > 0 && before.size() < after.size()) {
            String answer = get(FEED + "/log/consistency?from=" + before.size() + "&to=" + after.size(), ANSWER);
            try {
                proof = Hash.list(CanonicalJson.members(answer).get("hashes"));
            } catch (IllegalArgumentException e) {
                // not a valid proof
            }
        }
        try {
            after.requireContinues(before, proof);
        } catch (IllegalArgumentException e) {
            throw new FeedNotProvedException(e.getMessage(), e);
        }
    }

    /** Returns when there are records after a cursor, or after a while. They are read again, with a proof. */
    private void awaitMore(@Nullable String cursor)
            throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        String from = cursor == null ? "" : "&cursor=" + cursor;
        get(FEED + "?limit=1&wait=" + WAIT_SECONDS + from, ANSWER.plusSeconds(WAIT_SECONDS));
    }

    /** A log that has ended does not grow any more. */
    private void requireThatItGoesOn() throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        try {
            SortedMap<String, String> log = CanonicalJson.members(get(FEED + "/log", ANSWER));
            if (!Integer.toString(keys.epoch()).equals(log.get("epoch"))) {
                throw new FeedNotProvedException(
                        "The log " + keys.newest().get(0).name() + " has ended with " + seen.size()
                                + " records, and the service goes on with another one and another key: its address"
                                + " /v1/project-logs/log says why. Get that key another way, and add it: then the new log has to"
                                + " continue the one that you have");
            }
        } catch (IllegalArgumentException e) {
            throw new FeedNotProvedException("The answer has no log: " + e.getMessage(), e);
        }
    }

    private String get(String path, Duration limit)
            throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(client.getBaseUri() + path))
                .header("Accept", "application/json, text/plain, application/problem+json")
                .timeout(limit);
        if (client.getRequestInterceptor() != null) {
            client.getRequestInterceptor().accept(request);
        }
        int status;
        String retryAfter;
        String body;
        HttpResponse<InputStream> answer;
        try {
            answer = client.getHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
            status = answer.statusCode();
            retryAfter = answer.headers().firstValue("Retry-After").orElse(null);
            try (InputStream in = ApiClient.getResponseBody(answer)) {
                body = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            }
        } catch (IOException e) {
            throw new Unavailable(String.valueOf(e.getMessage()), null, e);
        }
        if (status == 200) {
            return body;
        }
        if (body.contains("\"urn:annals:problem:log-forked\"")) {
            throw new FeedNotProvedException(
                    "The service says itself that its records are not those of the log: " + body);
        }
        ApiException problem =
                new ApiException(status, path + " was answered with " + status + ": " + body, answer.headers(), body);
        if (Unavailable.isStatus(status) || body.contains("\"urn:annals:problem:log-behind\"")) {
            throw new Unavailable(problem.getMessage(), retryAfter, problem);
        }
        throw problem;
    }
}
