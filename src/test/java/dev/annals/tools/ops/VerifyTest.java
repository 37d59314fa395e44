package dev.annals.tools.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.derived.log.TreeFixture;
import dev.annals.derived.projection.TestProjector;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.PoolFixture;
import dev.annals.tools.embedded.TestDatabase;
import io.vertx.mutiny.sqlclient.Pool;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** Each kind of damage is made as only a superuser can make it: with all triggers off. */
@BesideTheService
class VerifyTest {

    private final SqlFixture schema = SqlFixture.ofTheSchemaAlone();
    private final UUID project = UUID.randomUUID();
    private final StringWriter printed = new StringWriter();

    @BeforeEach
    void writeThreeAppends() throws SQLException {
        schema.run("select annals.create_project('verified', '" + project + "')");
        append(3);
        append(1);
        append(300);
    }

    @Test
    void aSoundDatabasePasses() throws SQLException {
        schema.run("select annals.create_project('without records', gen_random_uuid())");

        assertThat(verify()).isZero();
        assertThat(printed.toString().strip()).isEqualTo("Sound: 308 records in 3 projects. No value is redacted.");
    }

    @Test
    void aRedactedRecordPassesUntilTheValueIsThereAgain() throws SQLException {
        UUID record = UUID.randomUUID();
        schema.run("insert into annals.audit_record (project_id, id, action, message) values ('" + project + "', '"
                + record + "', 'a', 'a message')");
        schema.run("select annals.redact('" + project + "', '" + record + "', array['message'], 'a reason', null,"
                + " sha256('drawn'), gen_random_uuid(), gen_random_uuid(), null)");
        assertThat(verify()).isZero();
        damage("update annals.audit_record set message = 'a message' where id = '" + record + "'");
        assertThat(findings()).last().asString().contains(record.toString(), "its message in redaction 1");
        damage("update annals.audit_record set redaction = null where id = '" + record + "'");
        assertThat(findings()).last().asString().contains(record.toString(), "its message in redaction 1");
    }

    /** In a stretch as well, which reads no more than it has to. */
    @Test
    @TakesLong
    void eachTileOfEachLevelIsComparedWithTheLevelBelow() throws Exception {
        schema.run("insert into annals.audit_record (project_id, action) select '" + project
                + "', 'n ' || n from generate_series(1, 256 * 256 + 300) as n");
        Pool pool = new PoolFixture(schema.database(), Map.of()).open(2);
        new TestProjector(pool, List.of(TreeFixture.logTree()), 1000).catchUp();
        pool.close().await().indefinitely();
        assertThat(verify()).isZero();
        Map<String, String> damages = Map.of(
                "root", "tile 0 of level 1 is damaged: its stored root",
                "hashes", "tile 0 of level 1 is damaged: its hash 3 is not the root of tile 3 of level 0");
        for (Map.Entry<String, String> damage : damages.entrySet()) {
            String column = damage.getKey();
            int at = column.equals("root") ? 31 : 3 * 32;
            String flip = "update annals.merkle_tile set " + column + " = set_byte(" + column + ", " + at
                    + ", get_byte(" + column + ", " + at + ") # 1) where project_id = '" + project + "' and level = 1";
            damage(flip);
            assertThat(findings()).anyMatch(finding -> finding.contains(damage.getValue()));
            assertThat(findings("--project=verified", "--since=65000"))
                    .anyMatch(finding -> finding.contains(damage.getValue()));
            damage(flip);
        }
        String root =
                "update annals.merkle_tile set root = set_byte(root, 0, get_byte(root, 0) # 1) where project_id = '"
                        + project + "' and level = 0 and tile = 5";
        damage(root);
        assertThat(findings()).singleElement().asString().contains("tile 5 of level 0 is damaged");
        damage(root);
        damage("delete from annals.merkle_tile where level = 1");
        assertThat(findings()).singleElement().asString().contains("the log lacks tile 0 of level 1");
    }

    @Test
    void anIndexWithAnotherVersionOfItsCollationIsFound() throws SQLException {
        schema.run("create index ours on annals.project (name collate \"en-x-icu\")");
        damage("update pg_collation set collversion = '0' where collname = 'en-x-icu'");
        assertThat(verify()).isEqualTo(Verify.UNSOUND);
        assertThat(printed.toString())
                .contains("schema: index ours was made with version 0 of the collation en-x-icu")
                .doesNotContain("note: ");
        schema.run("drop index annals.ours");
        assertThat(verify()).isZero();
    }

    /** As after an upgrade of the server's libraries. */
    @Test
    void anIndexInTheDatabasesCollationIsFoundIfThatHasAnotherVersion() throws SQLException {
        damage("update pg_database set datcollversion = '0' where datname = current_database()");
        assertThat(verify()).isZero();
        assertThat(printed.toString())
                .startsWith("note: the database was made with version 0 of the collation default");
        schema.run("create index ours on annals.audit_record (message)");
        assertThat(verify()).isEqualTo(Verify.UNSOUND);
        assertThat(printed.toString()).contains("schema: index ours was made with version 0 of the collation default");
    }

    @Test
    void aRecordOfAnAppendThatWasWrittenWithoutTriggersIsFound() throws SQLException {
        UUID record = UUID.randomUUID();
        damage("insert into annals.audit_record (project_id, id, placed_with, action) values ('" + project + "', '"
                + record + "', gen_random_uuid(), 'lost')");

        assertThat(findings()).singleElement().asString().contains(record.toString(), "has no place");
    }

    @Test
    void aSingleRecordThatWasWrittenWithoutTriggersIsFound() throws SQLException {
        UUID record = UUID.randomUUID();
        damage("insert into annals.audit_record (project_id, id, placed_with, action) values ('" + project + "', '"
                + record + "', '" + record + "', 'lost')");

        assertThat(findings()).singleElement().asString().contains(record.toString(), "has no place");
    }

    @Test
    void aDeletedSegmentIsFoundAsAGapAndByEachOfItsRecords() throws SQLException {
        damage("delete from annals.feed_segment where first_sequence_id = 1 and project_id = '" + project + "'");

        assertThat(findings())
                .hasSize(5)
                .anyMatch(finding -> finding.contains("sequence ids 1 to 3 belong to no segment"))
                .anyMatch(finding -> finding.contains("of 3 records is in no segment"))
                .filteredOn(finding -> finding.contains("has no place"))
                .hasSize(3);
    }

    @Test
    void segmentsThatOverlapAreFound() throws SQLException {
        damage(
                "update annals.feed_segment set first_sequence_id = 2, last_sequence_id = 2 where first_sequence_id = 4");

        assertThat(findings())
                .anyMatch(finding -> finding.contains("sequence ids 2 to 2 belong to append"))
                .anyMatch(finding -> finding.contains("sequence ids 4 to 4 belong to no segment"));
    }

    @Test
    void aSegmentThatEndsBeforeItBeginsIsFound() throws SQLException {
        damage("update annals.feed_segment set last_sequence_id = 2 where first_sequence_id = 4");

        assertThat(findings()).anyMatch(finding -> finding.contains("begins at 4 and ends at 2"));
    }

    @Test
    void aSegmentWhoseAppendIsMissingIsFound() throws SQLException {
        damage("delete from annals.append where cardinality(record_ids) = 3");

        assertThat(findings()).anyMatch(finding -> finding.contains("the segment at 1 belongs to append"));
    }

    @Test
    void aSegmentOfAnotherLengthThanItsAppendIsFound() throws SQLException {
        damage("update annals.append set record_ids = record_ids[1:2] where cardinality(record_ids) = 3");

        assertThat(findings())
                .anyMatch(finding ->
                        finding.contains("the segment at 1 has 3 places") && finding.contains("has 2 records"))
                .anyMatch(finding -> finding.contains("has no place"));
    }

    @Test
    void aPlaceWhoseRecordIsMissingIsFound() throws SQLException {
        damage("delete from annals.audit_record where action = 'record 2 of 3'");

        assertThat(findings()).singleElement().asString().contains("lists record", "which is not there");
    }

    @Test
    void aRecordThatIsReadTwiceIsFound() throws SQLException {
        damage(
                "update annals.append set record_ids = record_ids[1:2] || record_ids[1] where cardinality(record_ids) = 3");
        damage("delete from annals.audit_record where action = 'record 3 of 3'");

        assertThat(findings()).singleElement().asString().contains("303 records take 304 places");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "timestamp; 'infinity'",
                "recorded_at; '-infinity'",
                "action; ''",
                "outcome; ''",
                "message; repeat('x', 65536)",
                "metadata; '[]'",
                "metadata; '{\"a\": 1e131071}'",
                "metadata; jsonb_build_object('a', array(select 1e131071::numeric from generate_series(1, 1000)))",
                "metadata; (repeat('{\"a\": ', 33) || '1' || repeat('}', 33))::jsonb",
                "number_sequence; 'invoice'",
                "recorded_by_token; gen_random_uuid()"
            })
    void aRecordThatCannotBeServedIsFoundByTheNameOfItsField(String value) throws SQLException {
        String[] column = value.split("; ", 2);
        schema.run(
                "alter domain annals.moment drop constraint moment_range",
                "alter domain annals.action drop constraint action_not_empty",
                "alter domain annals.outcome drop constraint outcome_not_empty",
                "alter domain annals.message drop constraint message_length",
                "alter domain annals.metadata drop constraint metadata_servable",
                "alter table annals.audit_record drop constraint audit_record_one_recorder",
                "set session_replication_role = replica",
                "update annals.audit_record set \"" + column[0] + "\" = " + column[1]
                        + " where action = 'record 2 of 3'");

        assertThat(findings())
                .singleElement()
                .asString()
                .contains("cannot be served because of its")
                .endsWith(column[0].replaceAll("number_sequence", "number").replaceAll("_token", ""));
    }

    @Test
    void recordsOfAProjectThatIsNotThereAreFound() throws SQLException {
        UUID nobodys = UUID.randomUUID();
        damage("insert into annals.audit_record (project_id, placed_with, action) values ('" + nobodys
                + "', gen_random_uuid(), 'lost')");

        assertThat(findings())
                .hasSize(2)
                .allMatch(finding -> finding.startsWith(nobodys.toString()))
                .anyMatch(finding -> finding.contains("the project itself is missing"));
    }

    @Test
    void damageOfOneProjectIsNotSaidOfAnother() throws SQLException {
        UUID other = UUID.randomUUID();
        schema.run("select annals.create_project('other', '" + other + "')");
        damage("delete from annals.feed_segment where first_sequence_id = 1 and project_id = '" + project + "'");

        assertThat(verify("--project=" + other)).isZero();
        assertThat(verify("--project=" + project)).isEqualTo(Verify.UNSOUND);
    }

    @Test
    void noMoreFindingsArePrintedThanAskedFor() throws SQLException {
        damage("delete from annals.feed_segment");

        assertThat(verify("--findings=5")).isEqualTo(Verify.UNSOUND);
        assertThat(printed.toString().lines().filter(line -> line.startsWith(project.toString())))
                .hasSize(6)
                .last()
                .asString()
                .contains("and more");
    }

    @ParameterizedTest
    @ValueSource(strings = {"--findings=0", "--everything"})
    void aWrongCommandLineIsRefused(String argument) {
        StringWriter error = new StringWriter();
        CommandLine line = new CommandLine(new Verify()).setErr(new PrintWriter(error));

        assertThat(line.execute(argument)).isEqualTo(Verify.UNCHECKED);
        assertThat(error.toString()).contains(argument.replaceFirst("=.*", ""));
    }

    @Test
    void anUnreadableDatabaseIsNeitherSoundNorUnsound() {
        assertThat(new Verify().run(TestDatabase.createDatabase(), new PrintWriter(printed)))
                .isEqualTo(Verify.UNCHECKED);
        assertThat(printed.toString()).contains("cannot be verified").contains("annals.project");
    }

    @Test
    void theServicesOwnRoleMayVerify() throws SQLException {
        String login = "verifier_" + UUID.randomUUID().toString().replace("-", "");
        schema.run("create role " + login + " login password 'secret' in role annals_service");
        DatabaseUrl owner = schema.database();
        DatabaseUrl limited =
                new DatabaseUrl(login, "secret", owner.host(), owner.port(), owner.database(), owner.parameters());
        try {
            assertThat(new Verify().run(limited, new PrintWriter(printed))).isZero();
        } finally {
            schema.run("drop role " + login);
        }
    }

    @Test
    void sinceASequenceIdOnlyWhatIsBehindItIsRead() throws SQLException {
        shorten(3);
        assertThat(verify("--project=verified", "--since=4"))
                .as(printed.toString())
                .isZero();
        assertThat(verify("--project=verified", "--since=0")).isEqualTo(Verify.UNSOUND);
        shorten(44);
        assertThat(verify("--project=verified", "--since=4")).isEqualTo(Verify.UNSOUND);
    }

    private void shorten(int appendOf) throws SQLException {
        damage("update annals.append set record_ids = record_ids[2:] where cardinality(record_ids) = " + appendOf);
    }

    @Test
    void sinceBelongsToOneProject() {
        StringWriter error = new StringWriter();
        CommandLine line = new CommandLine(new Verify()).setErr(new PrintWriter(error));

        assertThat(line.execute("--since=4")).isEqualTo(Verify.UNCHECKED);
        assertThat(error.toString()).contains("--project");
    }

    @Test
    void aProjectThatIsNotThereIsNotSound() {
        assertThatThrownBy(() -> verify("--project=another"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no project another");
    }

    private List<String> findings(String... arguments) {
        printed.getBuffer().setLength(0);
        assertThat(verify(arguments)).isEqualTo(Verify.UNSOUND);
        List<String> lines = printed.toString().lines().toList();
        assertThat(lines.get(lines.size() - 1)).startsWith("Not sound: ").contains("1 of ");
        // Some damage takes a constraint away first.
        return lines.subList(0, lines.size() - 1).stream()
                .filter(line -> !line.startsWith("schema: "))
                .toList();
    }

    private int verify(String... arguments) {
        return CommandLine.populateCommand(new Verify(), arguments).run(schema.database(), new PrintWriter(printed));
    }

    /** One statement's records: an append for up to 256 of them. */
    private void append(int count) throws SQLException {
        if (count == 1) {
            try (Connection connection = schema.database().connect()) {
                SqlFixture.insert(connection, project, "single");
            }
            return;
        }
        schema.run("insert into annals.audit_record (project_id, action) select '" + project
                + "', 'record ' || n || ' of " + count + "' from generate_series(1, " + count + ") as n");
    }

    private void damage(String sql) throws SQLException {
        schema.run("set session_replication_role = replica", sql);
    }
}
