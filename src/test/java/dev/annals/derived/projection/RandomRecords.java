package dev.annals.derived.projection;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Random;
import java.util.UUID;

/** Appends records of few values by plain SQL: many are alike, and some lack a value. */
public final class RandomRecords {

    private RandomRecords() {}

    /** Appends records by one statement, as the schema's owner. */
    public static void append(Connection connection, UUID projectId, int count, Random random) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("""
                insert into annals.audit_record
                  (project_id, "timestamp", action, actor_id, actor_name, subject_id, subject_name, outcome, ip_address, message,
                    recorded_by_role)
                select ?, timestamptz '2026-01-01 00:00:00Z' + make_interval(hours => v[1]),
                  'action ' || v[2], case when v[3] < 7 then 'u' || v[3] end, case when v[4] < 4 then 'Name ' || v[4] end,
                  case when v[5] < 7 then 'u' || v[5] end, case when v[6] < 4 then 'Name ' || v[6] end,
                  case when v[7] < 3 then 'outcome ' || v[7] end, case when v[8] < 9 then ('10.0.0.' || v[8])::inet end,
                  case when v[9] < 8 then 'Volume vol-' || v[9] || ', by Ümit' || repeat(' WORD' || v[10], v[10] % 3) end,
                  'role ' || v[10] % 4
                from (
                  select (select array_agg(abs(hashint8extended(n * 100 + k, ?) % bound)::integer order by k)
                    from unnest(array[100, 6, 10, 6, 10, 6, 4, 10, 10, 50]) with ordinality as b (bound, k)) as v
                  from generate_series(1, ?) as n) as random
                """)) {
            insert.setObject(1, projectId);
            insert.setLong(2, random.nextLong());
            insert.setInt(3, count);
            insert.executeUpdate();
        }
    }
}
