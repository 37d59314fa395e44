package dev.annals.edges.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.SqlFixture;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Runs behind all tests of the started application: Quarkus orders test classes so. */
class EveryAdministrativeCallIsAnEventTest {

    private static final String EVENTS = """
            select call.action || ' ' || call.id, count(event.action)
            from unnest(?::text[], ?::text[]) as call (action, id)
            left join (
              select action, case action when 'annals.token.rotate' then metadata #>> '{issued,id}' else subject_id end as id
              from annals.feed where project_id = annals.administration()
              -- What is set again has another event.
              and (action not like '%.set' or coalesce(metadata -> 'before', 'null') = 'null')) as event using (action, id)
            -- Some tests have a database of their own.
            where call.id in (
              select id::text from annals.project union all select id::text from annals.access_token
              union all select id::text from annals.legal_hold
              union all select id::text from annals.identity_grant union all select id::text from annals.archive
              union all select id::text from annals.stream union all select id::text from annals.alert
              union all select id::text from annals.saved_view)
            group by 1
            """;

    private final SqlFixture database = new SqlFixture();

    @Test
    void everyCallThatChangedSomethingHasLeftExactlyOneEvent() throws Exception {
        List<AdministrativeCalls.Event> calls = AdministrativeCalls.events();
        List<String> wrong = new ArrayList<>();
        int found = 0;
        try (Connection connection = database.connect();
                PreparedStatement select = connection.prepareStatement(EVENTS)) {
            select.setArray(1, texts(connection, calls.stream().map(AdministrativeCalls.Event::action)));
            select.setArray(2, texts(connection, calls.stream().map(AdministrativeCalls.Event::id)));
            try (ResultSet row = select.executeQuery()) {
                while (row.next()) {
                    found++;
                    if (row.getInt(2) != 1) {
                        wrong.add(row.getString(1) + " has left " + row.getInt(2) + " events");
                    }
                }
            }
        }
        assertThat(wrong).isEmpty();
        assertThat(found)
                .as("calls of this run (run all tests, not this one alone)")
                .isGreaterThan(20);
    }

    private static Array texts(Connection connection, java.util.stream.Stream<String> texts) throws SQLException {
        return connection.createArrayOf("text", texts.toArray(String[]::new));
    }

    @Test
    void theEventsOfTheWholeRunExplainTheAdministeredState() throws Exception {
        assertThat(database.texts("select finding from annals.administration_differences()"))
                .isEmpty();
    }
}
