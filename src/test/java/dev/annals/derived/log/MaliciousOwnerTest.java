package dev.annals.derived.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.Load;
import dev.annals.derived.projection.RandomRecords;
import dev.annals.proof.Checkpoint;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * The owner of the database changes it as a superuser, with every trigger off, and knows how the log is stored, but lacks its key.
 * A reader with an older checkpoint notices every change.
 */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class MaliciousOwnerTest {

    private static final int RECORDS = 300;

    /** A place in a full tile, and one after it. */
    private static final List<Integer> PLACES = List.of(100, 290);

    private final AuditLogFixture log = new AuditLogFixture();
    private final Random random = new Random(20260204);

    /** Changes to a record, as SQL: $ is its id, ? the project, # its sequence id. */
    private static Map<String, String> tampering() {
        Map<String, String> all = new LinkedHashMap<>();
        for (String column : List.of("action", "actor_id", "message", "recorded_by_role")) {
            all.put("changes " + column, "update annals.audit_record set " + column + " = 'forged' where id = $");
        }
        all.put("changes the time", "update annals.audit_record set \"timestamp\" = now() where id = $");
        all.put("changes when it was recorded", "update annals.audit_record set recorded_at = now() where id = $");
        all.put("adds metadata", "update annals.audit_record set metadata = '{\"forged\": 1}' where id = $");
        all.put(
                "removes a field",
                "update annals.audit_record set outcome = null, actor_name = null, message = null, ip_address"
                        + " = null where id = $");
        all.put("removes the record", "delete from annals.audit_record where id = $");
        all.put("swaps it with the next", """
                update annals.append set record_ids = (
                  select array_agg(record_ids[case p when n then n + 1 when n + 1 then n else p end] order by p)
                  from generate_subscripts(record_ids, 1) as p)
                from (select array_position(record_ids, $) as n from annals.append where project_id = '?' and $ = any (record_ids))
                  as at
                where project_id = '?' and $ = any (record_ids)""");
        all.put("puts another record in its place", """
                insert into annals.audit_record (project_id, id, placed_with, action)
                  select project_id, gen_random_uuid(), placed_with, 'forged' from annals.audit_record where id = $;
                update annals.append set record_ids = array_replace(record_ids, $,
                  (select id from annals.audit_record where project_id = '?' and action = 'forged'))
                where project_id = '?' and $ = any (record_ids)""");
        all.put("inserts another one before it, and pushes the last of its append out", """
                insert into annals.audit_record (project_id, id, placed_with, action)
                  select project_id, gen_random_uuid(), placed_with, 'forged' from annals.audit_record where id = $;
                update annals.append set record_ids = record_ids[1:n - 1]
                  || (select id from annals.audit_record where project_id = '?' and action = 'forged')
                  || record_ids[n:cardinality(record_ids) - 1]
                from (select array_position(record_ids, $) as n from annals.append where project_id = '?' and $ = any (record_ids))
                  as at
                where project_id = '?' and $ = any (record_ids)""");
        all.put("turns its append round", """
                update annals.append set record_ids = (
                  select array_agg(id order by n desc) from unnest(record_ids) with ordinality as each (id, n))
                where project_id = '?' and $ = any (record_ids)""");
        all.put(
                "draws its seed anew",
                "update annals.merkle_seed set seed = sha256(seed) where project_id = '?' and tile = (# - 1) / 256");
        all.put("takes it out and closes the gap", """
                update annals.append set record_ids = array_remove(record_ids, $) where project_id = '?' and $ = any (record_ids);
                update annals.feed_segment as s
                set first_sequence_id = first_sequence_id - case when first_sequence_id > # then 1 else 0 end - 100000,
                  last_sequence_id = last_sequence_id - case when last_sequence_id >= # then 1 else 0 end - 100000
                where project_id = '?';
                update annals.feed_segment set first_sequence_id = first_sequence_id + 100000,
                  last_sequence_id = last_sequence_id + 100000 where project_id = '?';
                delete from annals.audit_record where id = $""");
        all.put("cuts the tail", """
                delete from annals.feed_segment where project_id = '?' and last_sequence_id >= #""");
        return all;
    }

    private static final String NOTHING = "select 1";

    /** Ways to hide a change: none, or a log rebuilt from the changed records. */
    private static final Map<String, String> COVERS = Map.of("", NOTHING, ", and begins the tree anew", """
            delete from annals.merkle_tile where project_id = '?';
            delete from annals.merkle_log where project_id = '?';
            update annals.projection_checkpoint set sequence_id = 0 where project_id = '?' and projection = 'log'""");

    private int turn;

    /** Each place, or both. */
    private List<Integer> places() {
        return Load.isLong() ? PLACES : List.of(PLACES.get(turn / COVERS.size() % PLACES.size()));
    }

    /** Each change, or all of them. */
    private List<Map.Entry<String, String>> covers() {
        List<Map.Entry<String, String>> all = List.copyOf(COVERS.entrySet());
        int first = turn++ % all.size();
        return all.subList(Load.times(first, 0), Load.times(first + 1, all.size()));
    }

    @Test
    void everyTamperingIsNoticedByAReaderWithAnOlderCheckpoint() throws Exception {
        List<String> unnoticed = new ArrayList<>();
        for (Map.Entry<String, String> tampering : tampering().entrySet()) {
            for (int place : places()) {
                for (Map.Entry<String, String> cover : covers()) {
                    if (!isNoticed(place, tampering.getValue(), cover.getValue())) {
                        unnoticed.add("record " + place + ": " + tampering.getKey() + cover.getKey());
                    }
                }
            }
        }
        assertThat(unnoticed).isEmpty();
    }

    /** Changes to a redacted record; % is the field. */
    private static final Map<String, String> OF_REDACTED = Map.of(
            "changes what is left", "update annals.audit_record set action = 'forged' where id = $",
            "changes a digest",
                    "update annals.audit_record set redaction = jsonb_set(redaction, '{redacted,%}', to_jsonb(repeat('A', 43)))"
                            + " where id = $",
            "changes a salt",
                    "update annals.audit_record set redaction = jsonb_set(redaction, '{salts,action}', to_jsonb(repeat('A', 22)))"
                            + " where id = $",
            "hides that there was a field",
                    "update annals.audit_record set redaction = jsonb_set(redaction, '{redacted}', (redaction -> 'redacted') - '%') where id = $",
            "hides that anything was redacted", "update annals.audit_record set redaction = null where id = $",
            "puts another value in its place",
                    "update annals.audit_record set message = 'forged', outcome = 'forged', actor_id = 'forged' where id = $");

    @Test
    void everyTamperingWithARedactedRecordIsNoticedAsWell() throws Exception {
        List<String> unnoticed = new ArrayList<>();
        for (Map.Entry<String, String> tampering : OF_REDACTED.entrySet()) {
            for (int place : places()) {
                for (Map.Entry<String, String> cover : covers()) {
                    if (!isNoticed(place, tampering.getValue(), cover.getValue(), true)) {
                        unnoticed.add("record " + place + ": " + tampering.getKey() + cover.getKey());
                    }
                }
            }
        }
        assertThat(unnoticed).isEmpty();
        assertThat(isNoticed(100, NOTHING, COVERS.get(", and begins the tree anew"), true))
                .as("a tree that is made anew of the same records")
                .isFalse();
    }

    private String redact(Project project, String id) {
        Project redacting = new Project(project.id(), log.newToken(project.id(), "read", "redact"));
        for (String field : List.of("message", "outcome", "actor.id")) {
            int status = redacting
                    .wrongRequest()
                    .contentType("application/json")
                    .body("{\"fields\": [\"" + field + "\"], \"reason\": \"a reason\"}")
                    .post(AuditLogFixture.LOGS + "/" + id + "/redactions")
                    .statusCode();
            if (status == 200) {
                return field;
            }
        }
        throw new AssertionError("the record has none of the fields");
    }

    @Test
    void unchangedRecordsAreVerified() throws Exception {
        assertThat(isNoticed(100, NOTHING, COVERS.get(", and begins the tree anew")))
                .as("a tree that is made anew of the same records")
                .isFalse();
    }

    private boolean isNoticed(int place, String tampering, String cover) throws Exception {
        return isNoticed(place, tampering, cover, false);
    }

    private boolean isNoticed(int place, String tampering, String cover, boolean redacted) throws Exception {
        Project project = log.newProject();
        append(project, RECORDS);
        LogReader reader = new LogReader(project);
        Await.until("all records are in the log", () -> reader.next().size() == RECORDS);
        assertThatCode(() -> reader.walk(reader.next(), 500)).doesNotThrowAnyException();
        String id = log.text(
                "select id from annals.feed where project_id = '" + project.id() + "' and sequence_id = " + place);
        String field = redacted ? redact(project, id) : "";
        int more = redacted ? 1 : 0;
        Await.until("the redaction is in the log", () -> reader.next().size() == RECORDS + more);
        assertThatCode(() -> reader.walk(reader.next(), 500)).doesNotThrowAnyException();
        // No step of the projection may run meanwhile.
        log.run(
                "select from annals.projection_checkpoint where project_id = '" + project.id() + "' for update",
                "set local session_replication_role = replica",
                filled(tampering.replace("%", field), project, id, place),
                filled(cover, project, id, place));
        append(project, 300);
        if (tampering.equals(NOTHING)) {
            // Until then a proof for the last checkpoint lacks tiles, which the reader notices, too.
            Await.until(
                    "the tree is there again",
                    () -> log.number("select coalesce(max(size), 0) from annals.merkle_log where project_id = '"
                                    + project.id() + "'")
                            == RECORDS + more + 300);
        }
        try {
            for (int round = 0; round < 200; round++) {
                Checkpoint checkpoint = reader.next();
                if (checkpoint.size() >= RECORDS + 200) {
                    reader.walk(checkpoint, 500);
                    return false;
                }
            }
            return true;
        } catch (IllegalArgumentException | AssertionError e) {
            return true;
        }
    }

    private static String filled(String sql, Project project, String id, int place) {
        return sql.replace("$", "'" + id + "'::uuid")
                .replace("?", project.id().toString())
                .replace("#", Integer.toString(place));
    }

    private void append(Project project, int count) throws Exception {
        try (Connection connection = log.connect()) {
            RandomRecords.append(connection, project.id(), count, random);
            connection.commit();
        }
    }
}
