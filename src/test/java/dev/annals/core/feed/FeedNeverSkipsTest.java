package dev.annals.core.feed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.AuditLogFixture;
import dev.annals.Load;
import dev.annals.core.append.OtherInstance;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.net.URI;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** NEVER SKIP and VISIBLE: the most important test, and a test that it can fail. */
@QuarkusTest
class FeedNeverSkipsTest {

    @Inject
    AuditLogFixture log;

    @TestHTTPResource("/")
    URI service;

    @Test
    void everyReaderSeesEveryCommittedRecordExactlyOnceAndInOrder() throws Exception {
        FeedLoad load = new FeedLoad(log, service, false, true);
        load.run(() -> load.committedRecords() >= Load.times(2_000, 20_000), () -> {});
        load.checkReaders();
    }

    @Test
    void everyReaderSeesEveryCommittedRecordWhileConnectionsAreKilledAtRandom() throws Exception {
        FeedLoad load = new FeedLoad(log, service, true, true);
        AtomicInteger killed = new AtomicInteger();
        load.run(
                () -> load.committedRecords() >= Load.times(1_200, 5_000) && killed.get() >= 20,
                () -> killed.addAndGet(killOneConnection()));
        load.checkReaders();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void everyReaderSeesEveryRecordOfManyProjectsThatSeveralInstancesWriteInAnyOrder(boolean kill) throws Exception {
        try (OtherInstance second = new OtherInstance();
                OtherInstance third = new OtherInstance()) {
            FeedLoad load = FeedLoad.ofManyProjects(log, service, kill, true, List.of(second, third));
            AtomicInteger killed = new AtomicInteger();
            load.run(
                    () -> load.committedRecords() >= Load.times(2_000, 20_000) && (!kill || killed.get() >= 20), () -> {
                        if (kill) {
                            killed.addAndGet(killOneConnection());
                        }
                    });
            load.checkReaders();
        }
        assertThat(log.number("""
                select max(projects) from (
                  select count(distinct project_id) as projects from annals.feed_segment group by xmin::text) as transaction
                """)).as("projects that one transaction wrote").isGreaterThan(8);
    }

    private int killOneConnection() {
        try {
            return (int) log.number("""
                    select count(*) filter (where pg_terminate_backend(pid)) from (
                      select pid from pg_stat_activity
                      where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
                      order by random() limit 1) as any_other
                    """);
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    /** If ids are assigned at the insert, as by an identity column, the load must find the feed broken. */
    @Test
    void theSameLoadLosesRecordsWhereTheTriggerIsReplacedByAnIdentityColumn() throws Exception {
        String deferred = replaceTriggerByIdentity();
        try {
            // Two transactions must overlap in the wrong order, which may take more than one try.
            FeedLoad load = brokenLoad();
            for (int tries = 1; load.skippedRecords() == 0 && tries < 50; tries++) {
                load = brokenLoad();
            }
            assertThat(load.skippedRecords()).isPositive();
            assertThatThrownBy(load::checkReaders).isInstanceOf(AssertionError.class);
        } finally {
            execute(deferred);
        }
    }

    private FeedLoad brokenLoad() throws Exception {
        FeedLoad load = new FeedLoad(log, service, false, false);
        load.run(() -> load.committedRecords() >= 1_500, () -> {});
        return load;
    }

    /** @return the statements that bring the deferred trigger back */
    private String replaceTriggerByIdentity() throws SQLException {
        StringBuilder back = new StringBuilder();
        log.texts("""
                select 'drop trigger place_segment on ' || tgrelid::regclass || '; ' || pg_get_triggerdef(oid) || ';'
                from pg_trigger where tgname = 'place_segment'
                """).forEach(back::append);
        back.append("drop function annals.number_at_insert(); drop sequence annals.insert_order;");
        execute("""
                create sequence annals.insert_order increment by 256;
                create function annals.number_at_insert() returns trigger language plpgsql security definer as $$
                declare
                  first bigint := nextval('annals.insert_order');
                  size integer := 1;
                begin
                  if tg_table_name = 'append' then
                    size := cardinality(new.record_ids);
                  elsif new.project_id = annals.administration() then
                    -- The service's own feed, which other tests read, too, stays as it has to be.
                    perform from annals.project where id = new.project_id for no key update;
                    select max(last_sequence_id) + 1 into first from annals.feed_segment where project_id = new.project_id;
                  end if;
                  insert into annals.feed_segment (project_id, append_id, first_sequence_id, last_sequence_id)
                  values (new.project_id, new.id, first, first + size - 1);
                  return null;
                end $$;
                drop trigger place_segment on annals.audit_record;
                drop trigger place_segment on annals.append;
                create trigger place_segment after insert on annals.audit_record
                  for each row when (new.placed_with = new.id) execute function annals.number_at_insert();
                create trigger place_segment after insert on annals.append
                  for each row execute function annals.number_at_insert();
                """);
        return back.toString();
    }

    private void execute(String statements) throws SQLException {
        // in the order of the service's statements, which avoids deadlocks
        log.run("lock table annals.append, annals.audit_record in access exclusive mode", statements);
    }
}
