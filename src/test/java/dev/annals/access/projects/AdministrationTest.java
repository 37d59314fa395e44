package dev.annals.access.projects;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.Load;
import dev.annals.SqlFixture;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The administration is a feed: every change has its event, events cannot be forged, and the state follows from them. */
@BesideTheService
class AdministrationTest {

    private static final String ADMINISTRATION = "(select id from annals.project where name = 'annals')";
    private static final String EVENTS =
            "select action from annals.feed where project_id = " + ADMINISTRATION + " order by sequence_id";

    private final SqlFixture schema = SqlFixture.ofTheSchemaAlone();

    @AfterEach
    void theStateFollowsFromTheEvents() throws Exception {
        assertThat(differences()).isEmpty();
        schema.checkFeed(UUID.fromString(schema.text("select annals.administration()")));
    }

    private List<String> differences() throws SQLException {
        return schema.texts("select finding from annals.administration_differences()");
    }

    private static String issue(UUID project, UUID token, String scopes) {
        return "select annals.issue_token('%s', '%s', sha256('%s'), '{%s}', 'a token', now() + interval '1 h', '{10.0.0.0/8}')"
                .formatted(project, token, token, scopes);
    }

    /** @param filter in SQL */
    private static String link(UUID project, UUID id, String scopes, String filter, int seconds, UUID maker) {
        return "select annals.issue_link('%s', '%s', sha256('%s'), '{%s}', %s, %d, '%s')"
                .formatted(project, id, id, scopes, filter, seconds, maker);
    }

    /** In SQL, but for the embedders. */
    private static String look(UUID project, String colour, String logo, String embedders) {
        return "select annals.set_look('%s', 'a shop', %s, %s, '%s')".formatted(project, colour, logo, embedders);
    }

    private static String grant(UUID project, UUID id, String scopes) {
        return "select annals.grant_identity('%s', '%s', 'https://i', 'groups', 'g', '{%s}', null, '{\"streams\": 1}')"
                .formatted(project, id, scopes);
    }

    @Test
    void everyCommandLeavesOneEventWithTheStateBeforeAndAfter() throws Exception {
        UUID project = UUID.randomUUID();
        UUID token = UUID.randomUUID();
        UUID next = UUID.randomUUID();
        String role = "annals_test_" + UUID.randomUUID().toString().replace("-", "");
        schema.runEach(
                "select annals.create_project('before', '" + project + "')",
                "select annals.rename_project('" + project + "', 'after')",
                "select annals.rename_project('" + project + "', 'after')",
                issue(project, token, "read,write"),
                "select annals.rotate_token('%s', '%s', '%s', sha256('x'), interval '1 min')"
                        .formatted(project, token, next),
                "select annals.limit_project('" + project + "', '{\"records_per_second\": 7}')",
                "select annals.limit_project('" + project + "', '{\"records_per_second\": 7}')",
                "select annals.limit_token('%s', '%s', '{\"streams\": 0}')".formatted(project, next),
                "select annals.revoke_token('%s', '%s')".formatted(project, token),
                "select annals.revoke_token('%s', '%s')".formatted(project, token),
                "create role " + role,
                "select annals.grant_writer('" + role + "', '" + project + "')",
                "select annals.grant_writer('" + role + "', '" + project + "')",
                "select annals.revoke_writer('" + role + "', '" + project + "')",
                "drop role " + role,
                "select annals.close_project('" + project + "')",
                "select annals.close_project('" + project + "')",
                "select annals.set_hold('%s', '%s', null, 's', 'a case')".formatted(project, next),
                "select annals.lift_hold('%s', '%s', 'closed')".formatted(project, next),
                "select annals.lift_hold('%s', '%s', 'closed again')".formatted(project, next),
                look(project, "'#0a0b0c'", "'x'", "{https://a.example.org,https://b.example.org:8443}"),
                look(project, "'#0a0b0c'", "'x'", "{https://a.example.org,https://b.example.org:8443}"),
                look(project, "null", "null", "{}"),
                grant(project, next, "read,write"),
                "select annals.enter_identity('https://i', 'jane', '{%s}', '192.0.2.1')".formatted(next),
                "select annals.enter_identity('https://i', 'jane', '{%s}', '192.0.2.1')".formatted(next),
                "select annals.enter_identity('https://other', 'jane', '{%s}', '192.0.2.1')".formatted(next),
                "select annals.revoke_identity_grant('%s', '%s')".formatted(project, next),
                "select annals.revoke_identity_grant('%s', '%s')".formatted(project, next),
                "select annals.enter_identity('https://i', 'john', '{%s}', '192.0.2.1')".formatted(next),
                catalogue(project, "{\"name\": \"a\", \"title\": \"A\"}"),
                catalogue(project, "{\"name\": \"a\", \"title\": \"A\"}"),
                catalogue(project, "{\"name\": \"b\"}"),
                "select annals.delete_catalogue_action('%s', 'b')".formatted(project));

        assertThat(schema.texts(EVENTS))
                .containsExactly(
                        "annals.project.create",
                        "annals.schema.migrate",
                        "annals.project.create",
                        "annals.project.rename",
                        "annals.token.issue",
                        "annals.token.rotate",
                        "annals.project.limit",
                        "annals.token.limit",
                        "annals.token.revoke",
                        "annals.writer.grant",
                        "annals.writer.revoke",
                        "annals.project.close",
                        "annals.hold.set",
                        "annals.hold.lift",
                        "annals.look.set",
                        "annals.look.set",
                        "annals.grant.make",
                        "annals.identity.enter",
                        "annals.grant.revoke",
                        "annals.catalogue.set",
                        "annals.action.set",
                        "annals.action.set",
                        "annals.action.delete",
                        "annals.action.delete");
        assertThat(schema.text("""
                select concat_ws(' ', actor_type, actor_id = annals.identity_id('https://i', 'jane')::text, host(ip_address),
                  recorded_by = 'identity:' || actor_id)
                from annals.feed where action = 'annals.identity.enter'
                """)).isEqualTo("identity t 192.0.2.1 t");
        assertThat(schema.text("""
                select metadata #>> '{before,name}' || ' ' || (metadata #>> '{after,name}') || ' ' || outcome || ' '
                  || (actor_type = 'role' and actor_id = session_user and recorded_by = 'role:' || session_user
                    and subject_type = 'project' and subject_id = '%s' and ip_address = inet_client_addr())
                from annals.feed where action = 'annals.project.rename'
                """.formatted(project))).isEqualTo("before after success true");
    }

    private static String catalogue(UUID project, String action) {
        return "select annals.set_catalogue('%s', 'mark', null, '[%s]', true, 10, 1000)".formatted(project, action);
    }

    @Test
    void noEventHasATokenOrItsHash() throws Exception {
        UUID project = schema.insertProject();
        UUID token = UUID.randomUUID();
        schema.run(issue(project, token, "read"));
        schema.run("select annals.rotate_token('%s', '%s', gen_random_uuid(), sha256('next'), interval '0')"
                .formatted(project, token));
        assertThat(schema.number("""
                select count(*) from annals.feed, annals.access_token
                where strpos(feed::text, encode(token_hash, 'hex')) > 0 or strpos(feed::text, encode(token_hash, 'base64')) > 0
                """)).isZero();
    }

    @Test
    void noWriterAppendsToTheAdministrationsFeed() throws Exception {
        String insert =
                "insert into annals.audit_record (project_id, action) values (" + ADMINISTRATION + ", 'forged')";
        String several = "insert into annals.audit_record (project_id, action) select " + ADMINISTRATION
                + ", 'annals.forged' from generate_series(1, 2)";
        for (String statement : List.of(insert, several)) {
            assertThatThrownBy(() -> schema.run(statement)).hasMessageContaining("nobody may append to it");
        }
        String asService =
                "insert into annals.audit_record (project_id, id, placed_with, action, recorded_by_role) values ("
                        + ADMINISTRATION + ", '%1$s', '%1$s', '%2$s', null)";
        assertThatThrownBy(
                        () -> schema.run("set role annals_service", asService.formatted(UUID.randomUUID(), "forged")))
                .hasMessageContaining("nobody may append to it");
        assertThatThrownBy(() -> schema.run(
                        "set role annals_service", asService.formatted(UUID.randomUUID(), "annals.project.create")))
                .hasMessageContaining("action_reserved");
    }

    @Test
    void theServiceRecordsNoOperationThatWouldBeTakenForAChange() throws Exception {
        schema.run(
                "set role annals_service",
                "select annals.record_operation('annals.export.start', 'project', 'p', 'success', '{}', null, '192.0.2.1')");
        assertThatThrownBy(
                        () -> schema.run(
                                "set role annals_service",
                                "select annals.record_operation('annals.project.create', 'project', 'p', 'success', '{}', null, null)"))
                .hasMessageContaining("not what the service itself records");
        assertThat(schema.text("""
                select concat_ws(' ', actor_type, actor_id, ip_address) from annals.feed where action = 'annals.export.start'
                """)).isEqualTo("setting ANNALS_ADMIN_TOKEN 192.0.2.1");
    }

    @Test
    void theServiceChangesNoProjectTokenOrGrantInAnotherWay() throws Exception {
        UUID project = schema.insertProject();
        for (String statement : List.of(
                "insert into annals.project (id, name) values (gen_random_uuid(), 'x')",
                "update annals.project set name = 'x'",
                "delete from annals.project",
                "insert into annals.access_token (id, project_id, token_hash, scopes) values (gen_random_uuid(), '"
                        + project + "', sha256('x'), '{read}')",
                "update annals.access_token set revoked_at = null",
                "delete from annals.access_token",
                "insert into annals.writer_grant (project_id, role_name) values ('" + project + "', 'x')",
                "select annals.grant_writer('annals_writer', '" + project + "')",
                "insert into annals.identity_grant (id, project_id, issuer, claim, value, scopes) values (gen_random_uuid(), '"
                        + project + "', 'i', 'c', 'v', '{read}')",
                "update annals.identity_grant set revoked_at = null",
                "insert into annals.identity (id, issuer, subject) values (annals.identity_id('i', 's'), 'i', 's')",
                "delete from annals.identity_entry",
                "select annals.record_event('annals.project.create', 'project', 'p', null, '{}', null, null)")) {
            assertThatThrownBy(() -> schema.run("set role annals_service", statement))
                    .as(statement)
                    .hasMessageContaining("permission denied");
        }
    }

    @Test
    void aTokenThatHasEndedAdministersNothingAnyMore() throws Exception {
        UUID administration = UUID.fromString(schema.text("select annals.administration()"));
        UUID admin = UUID.randomUUID();
        UUID auditor = UUID.randomUUID();
        schema.run(issue(administration, admin, "admin"), issue(administration, auditor, "audit"));
        String create = "select annals.create_project('made by %1$s', gen_random_uuid(), '%1$s', null)";
        schema.run(create.formatted(admin));
        schema.run("select annals.revoke_token('%s', '%s')".formatted(administration, admin));
        for (UUID token : List.of(admin, auditor, UUID.randomUUID())) {
            assertThatThrownBy(() -> schema.run(create.formatted(token))).hasMessageContaining("may not administer");
        }
    }

    @Test
    void anIdentityAdministersAsLongAsAGrantThatItCameByIsInForce() throws Exception {
        UUID administration = UUID.fromString(schema.text("select annals.administration()"));
        UUID admin = UUID.randomUUID();
        UUID auditor = UUID.randomUUID();
        schema.run(grant(administration, admin, "admin"), grant(administration, auditor, "audit"));
        schema.run("select annals.enter_identity('https://i', 'jane', '{%s,%s}', null)".formatted(admin, auditor));
        schema.run("select annals.enter_identity('https://i', 'john', '{%s}', null)".formatted(auditor));
        String create =
                "select annals.create_project('by %1$s ' || gen_random_uuid(), gen_random_uuid(), annals.identity_id('https://i', '%1$s'), null)";
        schema.run(create.formatted("jane"));
        schema.run("select annals.revoke_identity_grant('%s', '%s', annals.identity_id('https://i', 'jane'), null)"
                .formatted(administration, admin));
        for (String subject : List.of("jane", "john", "nobody")) {
            assertThatThrownBy(() -> schema.run(create.formatted(subject))).hasMessageContaining("may not administer");
        }
    }

    @Test
    void theIdOfAnIdentityIsThatOfItsSubjectAndOfNoToken() throws Exception {
        UUID project = schema.insertProject();
        // The first 16 bytes of: printf 'https://i\0jane' | sha256sum, with the version and the variant of RFC 9562.
        assertThat(schema.text("select annals.identity_id('https://i', 'jane')"))
                .isEqualTo("8e430f56-aa6b-848e-8842-16b719c05fde");
        for (String refused : List.of(
                "insert into annals.identity (id, issuer, subject) values (annals.identity_id('i', 's'), 'i', 't')",
                "insert into annals.identity (id, issuer, subject) values (annals.identity_id('i', ''), 'i', '')",
                issue(project, UUID.fromString("00000000-0000-8000-8000-000000000000"), "read"),
                grant(project, UUID.randomUUID(), "link"),
                grant(project, UUID.randomUUID(), "admin"),
                grant(UUID.fromString(schema.text("select annals.administration()")), UUID.randomUUID(), "read"),
                grant(project, UUID.randomUUID(), ""))) {
            assertThatThrownBy(() -> schema.run(refused))
                    .as(refused)
                    .hasMessageMatching("(?s).*(identity_|access_token_id|cannot have the scopes).*");
        }
    }

    @Test
    void noOtherProjectTakesTheNameOfTheAdministration() throws Exception {
        UUID administration = UUID.fromString(schema.text("select annals.administration()"));
        UUID project = schema.insertProject();
        for (String statement : List.of(
                "select annals.create_project('annals')",
                "select annals.create_project(' Annals')",
                "select annals.rename_project('" + project + "', 'ANNALS')",
                "select annals.rename_project('" + administration + "', 'other')",
                "select annals.close_project('" + administration + "')",
                "select annals.create_project('" + project + "')",
                "select annals.create_project(gen_random_uuid()::text)",
                issue(project, UUID.randomUUID(), "admin"),
                issue(project, UUID.randomUUID(), "audit"),
                issue(administration, UUID.randomUUID(), "write"))) {
            assertThatThrownBy(() -> schema.run(statement))
                    .as(statement)
                    .hasMessageMatching("(?s).*(project_name|reserved|" + "neither renamed|cannot have the scopes).*");
        }
    }

    @Test
    void aClosedProjectTakesNoMoreRecordsFromAnyone() throws Exception {
        UUID project = schema.insertProject();
        UUID open = schema.insertProject();
        try (Connection early = schema.connect()) {
            SqlFixture.insert(early, project, "inserted before, committed after");
            schema.run("select annals.close_project('" + project + "')");
            assertThatThrownBy(early::commit).hasMessageContaining("project " + project + " is closed");
        }
        assertThatThrownBy(() -> schema.run(
                        "insert into annals.audit_record (project_id, action) values ('" + project + "', 'late')"))
                .hasMessageContaining("is closed")
                .hasMessageContaining("Append to another project");
        schema.run("insert into annals.audit_record (project_id, action) values ('" + open + "', 'a')");
        assertThat(schema.checkFeed(project)).isZero();
        assertThat(schema.checkFeed(open)).isEqualTo(1);
    }

    @Test
    void anExpiryIsRecordedOnce() throws Exception {
        UUID project = schema.insertProject();
        UUID token = UUID.randomUUID();
        schema.run(
                "select annals.issue_token('%s', '%s', sha256('x'), '{read}', null, clock_timestamp() + interval '50 ms', '{}')"
                        .formatted(project, token));
        schema.run("select pg_sleep_until(expires_at) from annals.access_token where id = '" + token + "'");
        assertThat(schema.text("select annals.expire_tokens(10)")).isEqualTo("1");
        schema.runEach("select annals.expire_tokens(10)", "select annals.expire_tokens(10)");
        assertThat(schema.texts(EVENTS))
                .filteredOn("annals.token.expire"::equals)
                .hasSize(1);
    }

    @Test
    void aChangeWithoutAnEventIsFound() throws Exception {
        UUID project = schema.insertProject();
        UUID token = UUID.randomUUID();
        schema.run(
                issue(project, token, "read"),
                "select annals.set_hold('" + project + "', gen_random_uuid(), 'u-1', null, 'r')",
                grant(project, token, "read"),
                "select annals.enter_identity('https://i', 'jane', '{" + token + "}', null)");
        try (Connection connection = schema.connect()) {
            for (String change : List.of(
                    "update annals.project set name = 'other' where id = '" + project + "'",
                    "insert into annals.project (id, name) values (gen_random_uuid(), 'unannounced')",
                    "update annals.access_token set scopes = '{read,write}' where id = '" + token + "'",
                    "update annals.access_token set expires_at = null where id = '" + token + "'",
                    "update annals.access_token set limits = '{\"exports\": 1}' where id = '" + token + "'",
                    "update annals.project set limits = '{\"exports\": 1}' where id = '" + project + "'",
                    "delete from annals.access_token where id = '" + token + "'",
                    "insert into annals.writer_grant (project_id, role_name) values ('" + project + "', 'somebody')",
                    "insert into annals.legal_hold (id, project_id, reason) values (gen_random_uuid(), '" + project
                            + "', 'r')",
                    "update annals.legal_hold set actor_id = 'other'",
                    "update annals.legal_hold set lifted_at = now(), lift_reason = 'r'",
                    "delete from annals.legal_hold",
                    "update annals.identity_grant set scopes = '{read,write}'",
                    "update annals.identity_grant set revoked_at = now()",
                    "delete from annals.identity_entry",
                    "update annals.identity_entry set created_at = now()")) {
                SqlFixture.execute(connection, change);
                assertThat(SqlFixture.texts(connection, "select finding from annals.administration_differences()"))
                        .as(change)
                        .hasSize(1);
                connection.rollback();
            }
        }
    }

    @Test
    void aLinkIsMadeByATokenOfItsProjectThatMayAndIsBoundToAFilterAndADay() throws Exception {
        UUID project = schema.insertProject();
        UUID other = schema.insertProject();
        UUID maker = UUID.randomUUID();
        UUID reader = UUID.randomUUID();
        UUID browser = UUID.randomUUID();
        schema.run(
                issue(project, maker, "link"),
                issue(project, reader, "read,write,sequence,redact"),
                issue(project, browser, "link,read"));
        UUID made = UUID.randomUUID();
        String subject = "'{\"subject_id\": \"s\"}'";
        schema.run(
                link(project, made, "view", subject, 86_400, maker),
                link(project, UUID.randomUUID(), "browse,export", "null", 60, browser));
        for (String refused : List.of(
                link(project, UUID.randomUUID(), "view", subject, 60, reader),
                link(project, UUID.randomUUID(), "view", subject, 60, made),
                link(other, UUID.randomUUID(), "view", subject, 60, maker),
                link(project, UUID.randomUUID(), "view", subject, 60, UUID.randomUUID()),
                link(project, UUID.randomUUID(), "view", subject, 86_401, maker),
                link(project, UUID.randomUUID(), "view", "'{}'", 60, maker),
                link(project, UUID.randomUUID(), "view", "'[]'", 60, maker),
                link(project, UUID.randomUUID(), "view", "'{\"subject_id\": 1}'", 60, maker),
                link(project, UUID.randomUUID(), "view", "'{\"subject_id\": null}'", 60, maker),
                link(project, UUID.randomUUID(), "view", "'{\"subject_id\": \"\"}'", 60, maker),
                link(project, UUID.randomUUID(), "view", "'{\"action\": \"a\"}'", 60, maker),
                link(project, UUID.randomUUID(), "view", "null", 60, browser),
                link(project, UUID.randomUUID(), "view,deliver", subject, 60, browser),
                link(project, UUID.randomUUID(), "browse", subject, 60, browser),
                link(project, UUID.randomUUID(), "browse", "null", 60, maker),
                link(project, UUID.randomUUID(), "browse,deliver", "null", 60, browser),
                link(project, UUID.randomUUID(), "browse,read", "null", 60, browser),
                link(project, UUID.randomUUID(), "read", "null", 60, browser),
                issue(project, UUID.randomUUID(), "view"),
                issue(project, UUID.randomUUID(), "browse"),
                issue(project, UUID.randomUUID(), "export"),
                issue(project, UUID.randomUUID(), "view,read"))) {
            assertThatThrownBy(() -> schema.run(refused))
                    .as(refused)
                    .hasMessageMatching("(?s).*(may not make links|access_token_|cannot have the scopes).*");
        }
        schema.run("select annals.revoke_token('%s', '%s')".formatted(project, made));
        assertThat(schema.text("select filter from annals.access_token where id = '" + made + "'"))
                .isNull();
    }

    @Test
    void anInvalidLimitIsNotStored() throws Exception {
        UUID project = schema.insertProject();
        for (String limits : List.of(
                "[]",
                "null",
                "1",
                "{\"records_per_second\": 0}",
                "{\"records_per_second\": 1.5}",
                "{\"records_per_second\": 1e30}",
                "{\"records_per_second\": \"1\"}",
                "{\"records_per_second\": null}",
                "{\"bytes_per_second\": 1000000001}",
                "{\"streams\": -1}",
                "{\"streams\": {}}",
                "{\"seconds_ahead\": -1}",
                "{\"seconds_ahead\": 31536001}",
                "{\"other\": 1}")) {
            assertThatThrownBy(() -> schema.run("select annals.limit_project('" + project + "', '" + limits + "')"))
                    .as(limits)
                    .hasMessageContaining("project_limits");
        }
    }

    @Test
    void theDatabaseRefusesRecordsThatAreTooFarAheadOfTheClock() throws Exception {
        UUID project = schema.insertProject();
        String insert = "insert into annals.audit_record (project_id, action, \"timestamp\")" + " select '" + project
                + "', 'a', now() + interval '2 hours' * (n - %d) from generate_series(1, %d) as n";
        schema.run(insert.formatted(1, 2));
        schema.run("select annals.limit_project('" + project + "', '{\"seconds_ahead\": 60}')");
        for (String refused : List.of(insert.formatted(0, 1), insert.formatted(1, 2), insert.formatted(299, 300))) {
            assertThatThrownBy(() -> schema.run(refused))
                    .as(refused)
                    .hasMessageContaining("more than 60 s ahead of the clock");
        }
        schema.run(insert.formatted(1, 1));
        schema.run(insert.formatted(300, 300));
        schema.run("select annals.limit_project('" + project + "', '{}')");
        schema.run(insert.formatted(1, 2));
        assertThat(schema.checkFeed(project)).isEqualTo(305);
    }

    /** The page's header names embedders. */
    @Test
    void aLookNamesOriginsAloneWhereverItComesFrom() throws Exception {
        UUID project = schema.insertProject();
        for (String refused : List.of(
                look(project, "null", "null", "{https://a.example.org; script-src *}"),
                look(project, "null", "null", "{https://a.example.org https://b.example.org/x}"),
                look(project, "null", "null", "{*}"),
                look(project, "null", "null", "{https://*.example.org}"),
                look(project, "null", "null", "{http://a.example.org}"),
                look(project, "null", "null", "{\"\"}"),
                look(project, "null", "null", "{null}"),
                look(project, "null", "null", "{" + "https://a.example.org,".repeat(16) + "https://b.example.org}"),
                look(project, "'red'", "null", "{}"),
                look(project, "'#0A0B0C'", "null", "{}"),
                look(project, "null", "''", "{}"),
                look(project, "null", "convert_to(repeat('x', 32769), 'UTF8')", "{}"))) {
            assertThatThrownBy(() -> schema.run(refused)).as(refused).hasMessageContaining("look_");
        }
        schema.run(look(project, "null", "null", "{" + "https://a.example.org,".repeat(15) + "https://b.example.org}"));
    }

    /** Commands at random, some of which fail, are rolled back, or lose their backend before or after their commit. */
    @Test
    void theStateFollowsFromTheEventsAfterAnyCommandsAndCrashes() throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        List<UUID> projects = new ArrayList<>(List.of(UUID.fromString(schema.text("select annals.administration()"))));
        List<UUID> tokens = new ArrayList<>(List.of(UUID.randomUUID()));
        int commands = Load.times(250, 20_000);
        int done = 0;
        Connection connection = schema.connect();
        try {
            for (int i = 0; i < commands; i++) {
                try {
                    for (int part = random.nextInt(3); part >= 0; part--) {
                        SqlFixture.execute(connection, command(random, projects, tokens));
                    }
                    switch (random.nextInt(8)) {
                        case 0 -> connection.rollback();
                        case 1 -> {
                            kill(connection);
                            connection.commit();
                        }
                        default -> {
                            connection.commit();
                            done++;
                        }
                    }
                } catch (SQLException e) {
                    if (connection.isClosed() || !connection.isValid(5)) {
                        connection.close();
                        connection = schema.connect();
                    } else {
                        connection.rollback();
                    }
                }
            }
        } finally {
            connection.close();
        }
        assertThat(done).as("commands that were committed; seed %d", seed).isGreaterThan(commands / 10);
        assertThat(differences()).as("seed %d", seed).isEmpty();
    }

    private void kill(Connection connection) throws SQLException {
        String pid = SqlFixture.texts(connection, "select pg_backend_pid()").get(0);
        schema.run("select pg_terminate_backend(" + pid + ", 5000)");
    }

    private static String command(Random random, List<UUID> projects, List<UUID> tokens) {
        UUID project = projects.get(random.nextInt(projects.size()));
        UUID token = tokens.get(random.nextInt(tokens.size()));
        UUID other = UUID.randomUUID();
        return switch (random.nextInt(18)) {
            case 0, 1 -> {
                projects.add(other);
                yield "select annals.create_project('project %d', '%s')".formatted(random.nextInt(1000), other);
            }
            case 2 -> "select annals.rename_project('%s', 'project %d')".formatted(project, random.nextInt(1000));
            case 3 -> random.nextInt(4) > 0 ? "select 1" : "select annals.close_project('" + project + "')";
            case 4 -> {
                tokens.add(other);
                yield issue(project, other, projects.indexOf(project) == 0 ? "admin" : "read,write,link");
            }
            case 5 -> {
                tokens.add(other);
                yield """
                        select annals.rotate_token(project_id, id, '%s', sha256('%s'), interval '%d ms')
                        from annals.access_token where id = '%s'
                        """.formatted(other, other, random.nextInt(3), token);
            }
            case 6 -> "select annals.revoke_token(project_id, id) from annals.access_token where id = '" + token + "'";
            case 7 -> "select annals.expire_tokens(" + random.nextInt(5) + ")";
            case 8 -> "select annals.set_hold('%s', '%s', null, null, 'r')".formatted(project, other);
            case 9 -> "select annals.lift_hold(project_id, id, 'r') from annals.legal_hold limit 1";
            case 10 ->
                "select annals.limit_project('%s', '{\"bytes_per_second\": %d}')"
                        .formatted(project, 1 + random.nextInt(3));
            case 11 ->
                "select annals.limit_token(project_id, id, '{\"streams\": %d}') from annals.access_token where id = '%s'"
                        .formatted(random.nextInt(3), token);
            case 13 -> grant(project, other, projects.indexOf(project) == 0 ? "admin" : "read,write");
            case 14 ->
                "select annals.revoke_identity_grant(project_id, id) from annals.identity_grant order by random() limit 1";
            case 15 ->
                "select annals.enter_identity('https://i', 's%d', (select array_agg(id) from (select id from annals.identity_grant limit %d) g), null)"
                        .formatted(random.nextInt(5), random.nextInt(9));
            case 16 ->
                look(project, random.nextBoolean() ? "'#%06x'".formatted(random.nextInt(3)) : "null", "'l'", "{}");
            case 12 -> {
                tokens.add(other);
                yield """
                        select annals.issue_link(project_id, '%s', sha256('%s'), '{view}', '{"actor_id": "%d"}', %d, id)
                        from annals.access_token where id = '%s'
                        """.formatted(other, other, random.nextInt(3), random.nextInt(2), token);
            }
            default ->
                random.nextBoolean()
                        ? "select annals.grant_writer('annals_writer', '" + project + "')"
                        : "select annals.revoke_writer('annals_writer', '" + project + "')";
        };
    }
}
