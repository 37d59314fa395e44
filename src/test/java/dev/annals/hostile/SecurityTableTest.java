package dev.annals.hostile;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.WrittenPart;
import dev.annals.tools.embedded.TestDatabase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/**
 * The table of docs/privileges.md about the objects of the schema is true; {@link AccessTest} holds that of the operations. With
 * {@code -Dprivileges.write=true} they write them.
 */
@BesideTheService
class SecurityTableTest {

    private static final Path DOCUMENT = Path.of("docs", "privileges.md");
    private static final String NOTHING = "–";

    /** The rows of the table with this first heading, cell by cell, one for each name of its first cell. */
    static List<List<String>> table(String heading) throws IOException {
        List<List<String>> rows = new ArrayList<>();
        boolean inside = false;
        for (String line : Files.readAllLines(DOCUMENT)) {
            inside = line.startsWith("| " + heading + " |") || (inside && line.startsWith("|"));
            if (inside) {
                List<String> row = Arrays.stream(
                                line.substring(1, line.length() - 1).split("\\|", -1))
                        .map(String::strip)
                        .toList();
                for (String name : row.get(0).split(", ")) {
                    rows.add(row(name, row.subList(1, row.size())));
                }
            }
        }
        assertThat(rows).as("the table of each " + heading).hasSizeGreaterThan(2);
        return rows;
    }

    @Test
    void eachRoleHasTheRightsOnEachObjectThatTheTableSays() throws Exception {
        check(
                SecurityTableTest.class,
                List.of("object", "kind", "`annals_writer`", "`annals_service`", "any other login"),
                rights());
    }

    /** Fails unless the document's table that this test makes has these rows. Rows that differ in their first cell alone are one. */
    static void check(Class<?> test, List<String> headings, List<List<String>> rows) throws IOException {
        StringBuilder table = new StringBuilder("\n").append(line(headings));
        table.append("|").append("---|".repeat(headings.size())).append('\n');
        Map<List<String>, List<String>> names = new LinkedHashMap<>();
        rows.forEach(row -> names.computeIfAbsent(row.subList(1, row.size()), cells -> new ArrayList<>())
                .add(row.get(0)));
        names.forEach((cells, named) -> table.append(line(row(String.join(", ", named), cells))));
        WrittenPart.check(DOCUMENT, test, "privileges.write", table.append('\n').toString());
    }

    private static List<String> row(String name, List<String> cells) {
        List<String> row = new ArrayList<>(List.of(name));
        row.addAll(cells);
        return row;
    }

    private static String line(List<String> row) {
        return "| " + String.join(" | ", row) + " |\n";
    }

    private List<List<String>> rights() throws SQLException {
        String stranger = "annals_test_stranger_" + UUID.randomUUID().toString().replace("-", "");
        List<List<String>> rows = new ArrayList<>();
        try (Connection connection = fresh();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("create role " + stranger);
            try (PreparedStatement select = connection.prepareStatement(RIGHTS)) {
                select.setString(1, stranger);
                try (ResultSet row = select.executeQuery()) {
                    while (row.next()) {
                        rows.add(List.of(
                                row.getString(1),
                                row.getString(2),
                                cell(row.getString(3)),
                                cell(row.getString(4)),
                                cell(row.getString(5))));
                    }
                }
            }
            connection.rollback();
        }
        return rows;
    }

    /** A database in which nobody has made anything yet. */
    private static Connection fresh() throws SQLException {
        return TestDatabase.createMigratedDatabase().connect();
    }

    private static String cell(String rights) {
        return rights == null || rights.isEmpty() ? NOTHING : rights;
    }

    private static final String RIGHTS = """
            with roles (number, name) as (values (1, 'annals_writer'::name), (2, 'annals_service'), (3, ?::name)),
            objects (kind, oid, name, owner, number, right_name, has, columns) as (
              select 'schema', n.oid, n.nspname::text, n.nspowner, r.number, lower(p), has_schema_privilege(r.name, n.oid, p), null
              from pg_namespace n, roles r, unnest(array['USAGE', 'CREATE']) p where n.nspname = 'annals'
              union all
              select case c.relkind when 'v' then 'view' else 'table' end, c.oid, c.relname::text, c.relowner, r.number, lower(p),
                has_table_privilege(r.name, c.oid, p),
                case when p in ('SELECT', 'INSERT', 'UPDATE') and not has_table_privilege(r.name, c.oid, p) then (
                  select string_agg(a.attname, ', ' order by a.attnum) from pg_attribute a
                  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                    and has_column_privilege(r.name, c.oid, a.attnum, p)) end
              from pg_class c, roles r,
                unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) p
              where c.relnamespace = 'annals'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
              union all
              select 'sequence', c.oid, c.relname::text, c.relowner, r.number, lower(p), has_sequence_privilege(r.name, c.oid, p), null
              from pg_class c, roles r, unnest(array['USAGE', 'SELECT', 'UPDATE']) p
              where c.relnamespace = 'annals'::regnamespace and c.relkind = 'S'
                and not exists (select from pg_depend d where d.objid = c.oid and d.deptype in ('a', 'i'))
              union all
              select case when f.prosecdef then 'function, as the owner' else 'function' end, f.oid,
                f.proname || case when exists (
                    select from pg_proc other where other.pronamespace = f.pronamespace and other.proname = f.proname and other.oid <> f.oid)
                  then '(' || oidvectortypes(f.proargtypes) || ')' else '' end, f.proowner, r.number, 'execute',
                has_function_privilege(r.name, f.oid, 'EXECUTE'), null
              from pg_proc f, roles r where f.pronamespace = 'annals'::regnamespace
              union all
              select 'domain', t.oid, t.typname::text, t.typowner, r.number, 'usage', has_type_privilege(r.name, t.oid, 'USAGE'), null
              from pg_type t, roles r where t.typnamespace = 'annals'::regnamespace and t.typtype = 'd'
            )
            select '`' || name || '`', kind,
              string_agg(right_name || coalesce(' of ' || columns, ''), ', ' order by right_name) filter (where number = 1 and (has or columns is not null)),
              string_agg(right_name || coalesce(' of ' || columns, ''), ', ' order by right_name) filter (where number = 2 and (has or columns is not null)),
              string_agg(right_name || coalesce(' of ' || columns, ''), ', ' order by right_name) filter (where number = 3 and (has or columns is not null))
            from objects group by kind, oid, name
            order by array_position(array['schema', 'table', 'view', 'sequence', 'function', 'function, as the owner', 'domain'], kind), name
            """;

    @Test
    void everythingInTheSchemaBelongsToItsOwner() throws Exception {
        try (Connection connection = fresh()) {
            assertThat(SqlFixture.texts(connection, """
                    select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
                    where n.nspname = 'annals' and c.relowner <> n.nspowner
                    union all
                    select f.proname from pg_proc f join pg_namespace n on n.oid = f.pronamespace
                    where n.nspname = 'annals' and f.proowner <> n.nspowner
                    """)).isEmpty();
        }
    }

    /** Whoever runs as the owner and looks names up where its caller says runs what its caller says. */
    @Test
    void everyFunctionThatRunsAsTheOwnerFixesItsSearchPath() throws Exception {
        try (Connection connection = fresh()) {
            assertThat(SqlFixture.texts(connection, """
                    select proname from pg_proc where pronamespace = 'annals'::regnamespace and prosecdef
                      and not exists (select from unnest(proconfig) as setting where setting like 'search\\_path=%')
                    """)).isEmpty();
        }
    }
}
