package dev.annals.tools.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.derived.log.LogReader;
import dev.annals.derived.projection.RandomRecords;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The records of a database against a checkpoint that was kept; damage is done with all triggers off. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class VerifyAgainstTest {

    private static final int SIGNED = 700;

    @TempDir
    Path folder;

    private final AuditLogFixture log = new AuditLogFixture();
    private final Random random = new Random(20260302);
    private Project project;
    private String vkey;

    @BeforeEach
    void keepACheckpoint() throws Exception {
        project = log.newProject();
        append(SIGNED);
        LogReader reader = new LogReader(project);
        Await.until("all records are in the log", () -> reader.next().size() == SIGNED);
        vkey = get("/log").then().extract().path("vkeys[0]");
        Files.writeString(folder.resolve("checkpoint"), get("/log/1/checkpoint").asString());
    }

    private Response get(String path) {
        return project.wrongRequest().get(AuditLogFixture.LOGS + path);
    }

    private void append(int count) throws Exception {
        try (Connection connection = log.connect()) {
            RandomRecords.append(connection, project.id(), count, random);
            connection.commit();
        }
    }

    private void damage(String sql) throws Exception {
        log.run(
                "select from annals.projection_checkpoint where project_id = '" + project.id() + "' for update",
                "set local session_replication_role = replica",
                sql.replace("?", project.id().toString()));
    }

    private String id(int sequenceId) throws Exception {
        return log.text(
                "select id from annals.feed where project_id = '" + project.id() + "' and sequence_id = " + sequenceId);
    }

    private List<String> findings() throws Exception {
        StringWriter printed = new StringWriter();
        Verify command = new Verify();
        new CommandLine(command).parseArgs("--vkey=" + vkey, "--against=" + folder.resolve("checkpoint"));
        command.readCheckpoint();
        int exitCode = command.run(TestDatabase.url(), new PrintWriter(printed));
        List<String> lines = printed.toString().lines().toList();
        assertThat(exitCode).as("%s", lines).isEqualTo(lines.size() > 1 ? 1 : 0);
        return lines.subList(0, lines.size() - 1);
    }

    @Test
    void recordsThatAreAsTheyWereSignedPassAlsoWhenTheFeedHasGrown() throws Exception {
        assertThat(findings()).isEmpty();
        append(600);
        LogReader reader = new LogReader(project);
        Await.until("all records are in the log", () -> reader.next().size() == SIGNED + 600);
        assertThat(findings()).isEmpty();
    }

    /** A field that the record has. */
    private String redact(int sequenceId) throws Exception {
        Project redacting = new Project(project.id(), log.newToken(project.id(), "read", "redact"));
        for (String field : List.of("message", "outcome", "actor.id", "subject.id", "ip_address")) {
            int status = redacting
                    .wrongRequest()
                    .contentType("application/json")
                    .body("{\"fields\": [\"" + field + "\"], \"reason\": \"a reason\"}")
                    .post(AuditLogFixture.LOGS + "/" + id(sequenceId) + "/redactions")
                    .statusCode();
            if (status == 200) {
                return field;
            }
        }
        throw new AssertionError("record " + sequenceId + " has none of the fields");
    }

    @Test
    void redactedRecordsPassUntilADigestOrASaltOrWhatIsLeftIsAnother() throws Exception {
        String field = redact(100);
        redact(600);
        assertThat(findings()).isEmpty();
        String id = id(100);
        String stored = log.text("select redaction from annals.audit_record where id = '" + id + "'");
        for (String change : List.of(
                "action = 'forged'",
                "redaction = jsonb_set(redaction, '{redacted," + field + "}', to_jsonb(repeat('A', 43)))",
                "redaction = jsonb_set(redaction, '{salts,action}', to_jsonb(repeat('A', 22)))",
                "redaction = redaction #- '{redacted," + field + "}'")) {
            String action = log.text("select action from annals.audit_record where id = '" + id + "'");
            damage("update annals.audit_record set " + change + " where project_id = '?' and id = '" + id + "'");
            assertThat(findings())
                    .as(change)
                    .anyMatch(finding ->
                            finding.contains("record " + id + " with the sequence id 100 does not match the log"));
            damage("update annals.audit_record set action = '" + action + "', redaction = '" + stored
                    + "' where project_id = '?' and id = '" + id + "'");
        }
        assertThat(findings()).isEmpty();
    }

    @Test
    void aValueThatIsGoneWithoutARecordThatSaysSoIsNamed() throws Exception {
        String field = redact(100);
        String id = id(100);
        assertThat(findings()).isEmpty();
        String silent = log.redactSilently(project.id(), id(101));
        assertThat(findings())
                .singleElement()
                .asString()
                .contains("record " + id(101) + " lacks its " + silent + ", and no annals.redact record");
        damage("delete from annals.redaction where record_id = '" + id + "' and project_id = '?'");
        assertThat(findings())
                .anyMatch(finding -> finding.contains("record " + id + " lacks its " + field))
                .anyMatch(finding -> finding.contains("says that something was redacted, and nothing was"));
    }

    @Test
    void aChangedRecordIsNamed() throws Exception {
        String id = id(100);
        damage("update annals.audit_record set message = 'forged' where project_id = '?' and id = '" + id + "'");
        assertThat(findings())
                .singleElement()
                .asString()
                .contains("record " + id + " with the sequence id 100 does not match the log");
    }

    @Test
    void aChangedRecordBehindTheLastFullTileIsNarrowedDown() throws Exception {
        damage("update annals.audit_record set message = 'forged' where project_id = '?' and id = '" + id(513) + "'");
        damage("update annals.audit_record set message = 'forged' where project_id = '?' and id = '" + id(700) + "'");
        assertThat(findings())
                .anyMatch(finding -> finding.contains("sequence ids 513 to 640 does not match the log"))
                .anyMatch(finding -> finding.contains("sequence ids 697 to 700 does not match the log"));
    }

    private static String flipped(String column, int at) {
        return column + " = set_byte(" + column + ", " + at + ", get_byte(" + column + ", " + at + ") # 1)";
    }

    @Test
    void aTileWithAnotherRootIsNamedAndNothingIsSignedOverIt() throws Exception {
        String root = "update annals.merkle_tile set " + flipped("root", 31)
                + " where project_id = '?' and level = 0 and tile = 1";
        damage(root);
        assertThat(findings())
                .singleElement()
                .asString()
                .contains("tile 1 of level 0 is damaged: its stored root does not follow from its hashes");
        append(1);
        Await.until("nothing is signed over it", () -> get("/log/1/checkpoint").statusCode() == 503);
        assertThat(get("/log/1/checkpoint").asString()).contains("the tiles 0 to 1 of level 0 are damaged");
        damage(root);
        assertThat(findings()).isEmpty();
    }

    @Test
    void aProofThatATileBreaksNamesTheTile() throws Exception {
        damage("update annals.merkle_tile set " + flipped("root", 31)
                + " where project_id = '?' and level = 0 and tile = 1");
        Await.until(
                "what was read before is forgotten",
                () -> get("/" + id(300) + "/proof").statusCode() != 200);
        assertThat(get("/log").asString()).contains("halted", "tile", "damaged").doesNotContain("is not the one");
    }

    @Test
    void anotherStateOfTheLogIsNoticedThoughEveryRecordAndTileIsAsItWas() throws Exception {
        String change = "update annals.merkle_log set " + flipped("frontier", 0) + " where project_id = '?'";
        damage(change);
        assertThat(findings())
                .singleElement()
                .asString()
                .contains("the log's state has other hashes for its 700 records");
        damage(change);
        append(300);
        LogReader reader = new LogReader(project);
        Await.until("all records are in the log", () -> reader.next().size() == SIGNED + 300);
        damage("update annals.merkle_tile set " + flipped("root", 0)
                + " where project_id = '?' and level = 0 and tile = 2");
        assertThat(findings()).singleElement().asString().contains("tile 2 of level 0 is damaged");
    }

    @Test
    void aRemovedRecordIsNamed() throws Exception {
        String id = id(300);
        damage("delete from annals.audit_record where project_id = '?' and id = '" + id + "'");
        assertThat(findings())
                .anyMatch(finding -> finding.contains("record " + id + " with the sequence id 300 is gone"));
    }

    @Test
    void aCutTailIsNoticed() throws Exception {
        damage("delete from annals.feed_segment where project_id = '?'");
        assertThat(findings()).anyMatch(finding -> finding.contains("the feed ends before record 700"));
    }

    @Test
    void aTreeThatWasMadeAnewOfOtherRecordsIsNotTheOneThatWasSigned() throws Exception {
        damage("update annals.audit_record set message = 'forged' where project_id = '?' and id = '" + id(100) + "'");
        damage("""
                delete from annals.merkle_tile where project_id = '?';
                delete from annals.merkle_log where project_id = '?';
                update annals.projection_checkpoint set sequence_id = 0 where project_id = '?' and projection = 'log'""");
        append(1);
        Await.until(
                "the tree has been made anew",
                () -> log.number("select count(*) from annals.merkle_tile where project_id = '" + project.id() + "'")
                        == 2);
        assertThat(findings())
                .singleElement()
                .asString()
                .contains("sequence ids 1 to 700 are not those that the log has signed", "do not show which");
    }

    @Test
    void anotherKeysCheckpointIsNotCompared() throws Exception {
        Verify command = new Verify();
        new CommandLine(command).parseArgs("--against=" + folder.resolve("checkpoint"));
        assertThat(catchThrowable(command::readCheckpoint))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("--vkey");
    }
}
