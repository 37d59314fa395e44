package dev.annals.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import dev.annals.client.model.AuditRecord;
import dev.annals.follower.Page;
import dev.annals.follower.Unavailable;
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
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The pages of a feed whose log's key is known: each checkpoint has to continue the one before, and each page has to be what the
 * checkpoint says. Records come from the text that was proved. Not for several threads.
 */
final class ProvedFeed {
    private static final String FEED = "/v1/project-logs";
    private static final Pattern EPOCH = Pattern.compile("/log/([1-9][0-9]{0,8})$");
    private static final int LIMIT = 1_000;
    private static final int EVENTS = 256;
    private static final Pattern CURSOR = Pattern.compile("(?:^|&)cursor=([0-9a-f-]+)");
    private static final int WAIT_SECONDS = 30;
    private static final Duration ANSWER = Duration.ofSeconds(60);
    private static final int OLDER_TRIES = 20;
    private static final Duration BETWEEN_TRIES = Duration.ofMillis(500);

    private final ApiClient client;
    private final List<Proofs.Key> keys = new ArrayList<>();
    private final String epoch;
    /** The newest checkpoint that was verified. */
    @Nullable
    private Proofs.Checkpoint seen;
    /** Proved records, some of which say what was redacted. */
    private List<Proofs.Entry> events = List.of();
    /** Whether the service may lack some of it. */
    private boolean isBehind = true;

    ProvedFeed(ApiClient client, @Nullable String checkpoint, List<String> vkeys) {
        this.client = client;
        List<Proofs.Key> known = new ArrayList<>();
        vkeys.forEach(vkey -> known.add(Proofs.Key.parse(vkey)));
        long newest = known.stream().mapToLong(key -> epoch(key)).max().orElse(0);
        if (newest == 0
                || known.stream().anyMatch(key -> epoch(key) == 0)
                || known.stream()
                                .map(key -> EPOCH.matcher(key.name).replaceFirst(""))
                                .distinct()
                                .count()
                        > 1) {
            throw new IllegalArgumentException(
                    "A log has one name, which ends with /log/ and a number: these are not its keys.");
        }
        known.stream().filter(key -> epoch(key) == newest).forEach(keys::add);
        this.epoch = Long.toString(newest);
        // That of an earlier epoch is continued by the newest one, or is forked.
        this.seen = checkpoint == null ? null : Proofs.Checkpoint.open(checkpoint, known);
    }

    private static long epoch(Proofs.Key key) {
        Matcher matcher = EPOCH.matcher(key.name);
        return matcher.find() ? Long.parseLong(matcher.group(1)) : 0;
    }

    /** The note of the newest checkpoint that was verified; null before there is any. */
    @Nullable
    String checkpoint() {
        return seen == null ? null : seen.note;
    }

    /** The page after a cursor, which is empty where nothing more can be proved after a while. */
    Page<AuditRecord> read(@Nullable String cursor)
            throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        long place = cursor == null ? 0 : place(cursor);
        Proofs.Tree log = seen == null || isBehind || place >= seen.tree.size ? advance() : seen.tree;
        if (place >= log.size) {
            awaitMore(cursor);
            log = advance();
        }
        if (place >= log.size) {
            requireThatItGoesOn();
            return new Page<>(List.of(), null, "?cursor=" + (cursor == null ? "0" : cursor));
        }
        return page(cursor, place, log);
    }

    private Page<AuditRecord> page(@Nullable String cursor, long place, Proofs.Tree log)
            throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        // Whatever keeps the service from proving a page of this size: the next one asks for the newest checkpoint
        // again.
        isBehind = true;
        Proofs.Page proved = proved(cursor, place, LIMIT, log);
        for (Proofs.Entry entry : proved.entries) {
            if (!entry.redacted.isEmpty()) {
                requireNamed(entry);
            }
        }
        try {
            Page<AuditRecord> page = new Page<>(records(proved), text(proved, "next"), text(proved, "poll_more"));
            if (proved.end != place(page.behind())) {
                throw new IllegalArgumentException("the page does not go on behind its last one");
            }
            isBehind = false;
            return page;
        } catch (IllegalArgumentException e) {
            throw notOfTheLog(place, e);
        }
    }

    private Proofs.Page proved(@Nullable String cursor, long place, int limit, Proofs.Tree log)
            throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        String from = cursor == null ? "" : "&cursor=" + cursor;
        String body = get(FEED + "?limit=" + limit + "&proof=" + log.size + from, ANSWER);
        try {
            Proofs.Page proved = Proofs.page(body, log);
            // Without a cursor, it begins with the oldest record that has not expired, if there is one.
            if (proved.records.isEmpty() && proved.start < log.size || cursor != null && proved.start != place) {
                throw new IllegalArgumentException("the page does not begin behind record " + place);
            }
            return proved;
        } catch (IllegalArgumentException e) {
            throw notOfTheLog(place, e);
        }
    }

    private static FeedNotProvedException notOfTheLog(long place, IllegalArgumentException why) {
        return new FeedNotProvedException(
                "The records behind record " + place + " are not those of the log: " + why.getMessage(), why);
    }

    /** Requires of each value that is gone from a record that a record of the log says so, and proves that one. */
    private void requireNamed(Proofs.Entry record)
            throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        Set<String> open = new TreeSet<>(record.redacted);
        events.forEach(event -> open.removeAll(event.redactedOf(record)));
        for (Iterator<Long> left = eventsAbout(open.isEmpty() ? null : record.id);
                !open.isEmpty() && left.hasNext(); ) {
            long event = left.next();
            if (event <= record.sequenceId) {
                continue;
            }
            if (seen.tree.size < event && advance().size < event) {
                requireThatItGoesOn();
                throw new Unavailable("the log does not have the record " + event + " yet", null, null);
            }
            // Redactions of many records come one behind the other.
            events = proved(Long.toString(event - 1), event - 1, EVENTS, seen.tree).entries;
            events.forEach(said -> open.removeAll(said.redactedOf(record)));
        }
        if (!open.isEmpty()) {
            throw new FeedNotProvedException(
                    "Record " + record.id + " with the sequence id " + record.sequenceId + " lacks its "
                            + String.join(", ", open) + ", and no " + Proofs.REDACT + " record of the log says so");
        }
    }

    /** The sequence ids of the records that say that something of a record was redacted; nothing proves them yet. */
    private Iterator<Long> eventsAbout(@Nullable String id)
            throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        List<Long> found = new ArrayList<>();
        String cursor = id == null ? null : "";
        while (cursor != null && found.size() < EVENTS) {
            String body = get(FEED + "?action=" + Proofs.REDACT + "&subject=" + id + cursor, ANSWER);
            try {
                SortedMap<String, String> page = ExactText.members(body);
                for (String event : ExactText.elements(page.getOrDefault("results", "[]"))) {
                    found.add(Proofs.natural(ExactText.members(event).get("sequence_id")));
                }
                String next = page.getOrDefault("next", "null");
                String query = next.equals("null")
                        ? null
                        : URI.create(ExactText.string(next)).getRawQuery();
                Matcher behind = CURSOR.matcher(query == null ? "" : query);
                cursor = behind.find() ? "&cursor=" + behind.group(1) : null;
            } catch (IllegalArgumentException e) {
                throw new FeedNotProvedException("What answers has no records: " + e.getMessage(), e);
            }
        }
        return found.iterator();
    }

    private List<AuditRecord> records(Proofs.Page proved) {
        List<AuditRecord> records = new ArrayList<>();
        for (String record : proved.records) {
            try {
                records.add(client.getObjectMapper().readValue(record, AuditRecord.class));
            } catch (JsonProcessingException e) {
                throw new IllegalArgumentException(e.getOriginalMessage(), e);
            }
        }
        return records;
    }

    @Nullable
    private static String text(Proofs.Page page, String member) {
        String value = page.members.get(member);
        return value == null || value.equals("null") ? null : ExactText.string(value);
    }

    /** How many records are before a cursor. */
    private static long place(String cursor) {
        return Proofs.natural(cursor.replaceFirst("-.*", ""));
    }

    /** Takes the newest checkpoint, which continues the one before. */
    private Proofs.Tree advance() throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        for (int tries = 1; ; tries++) {
            Proofs.Checkpoint newest = newest();
            if (seen == null || newest.tree.size >= seen.tree.size) {
                if (seen != null) {
                    requireContinued(seen.tree, newest.tree);
                }
                seen = newest;
                isBehind = false;
                return newest.tree;
            }
            // Another instance may be a moment behind the one that signed.
            if (tries == OLDER_TRIES) {
                throw new FeedNotProvedException("The log has " + newest.tree.size + " records, and had "
                        + seen.tree.size + ": its end was lost");
            }
            Thread.sleep(BETWEEN_TRIES.toMillis());
        }
    }

    private Proofs.Checkpoint newest() throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        String note = get(FEED + "/log/" + epoch + "/checkpoint", ANSWER);
        try {
            return Proofs.Checkpoint.open(note, keys);
        } catch (IllegalArgumentException e) {
            throw new FeedNotProvedException("The newest checkpoint cannot be trusted: " + e.getMessage(), e);
        }
    }

    private void requireContinued(Proofs.Tree before, Proofs.Tree after)
            throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        List<byte[]> proof = List.of();
        if (before.size > 0 && before.size < after.size) {
            String answer = get(FEED + "/log/consistency?from=" + before.size + "&to=" + after.size, ANSWER);
            try {
                String hashes = ExactText.members(answer).get("hashes");
                proof = hashes == null ? proof : Proofs.hashes(hashes);
            } catch (IllegalArgumentException e) {
                // what is no proof proves nothing
            }
        }
        if (!Proofs.isConsistent(before, after, proof)) {
            throw new FeedNotProvedException("The log of " + after.size + " records does not continue that of "
                    + before.size + ", which was seen before: records were changed, removed or inserted");
        }
    }

    /** Returns when there are records behind a cursor, or after a while. They are read again, with a proof. */
    private void awaitMore(@Nullable String cursor)
            throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        String from = cursor == null ? "" : "&cursor=" + cursor;
        get(FEED + "?limit=1&wait=" + WAIT_SECONDS + from, ANSWER.plusSeconds(WAIT_SECONDS));
    }

    /** A log that has ended grows no more. */
    private void requireThatItGoesOn() throws FeedNotProvedException, ApiException, Unavailable, InterruptedException {
        try {
            SortedMap<String, String> log = ExactText.members(get(FEED + "/log", ANSWER));
            if (!epoch.equals(log.get("epoch"))) {
                throw new FeedNotProvedException("The log " + keys.get(0).name + " has ended with " + seen.tree.size
                        + " records, and the service goes on with another one and another key: its address"
                        + " /v1/project-logs/log says why. Get that key another way, and add it: then the new log has to"
                        + " continue the one that you have");
            }
        } catch (IllegalArgumentException e) {
            throw new FeedNotProvedException("What answers has no log: " + e.getMessage(), e);
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
