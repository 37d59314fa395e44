package dev.annals.derived.search;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.core.feed.DatabaseReader;
import dev.annals.core.feed.FeedPage;
import dev.annals.core.feed.FeedQuery.Order;
import dev.annals.core.feed.FeedReader;
import dev.annals.core.query.Filter;
import dev.annals.core.query.QueryParser;
import dev.annals.core.query.QueryParser.QueryException;
import dev.annals.derived.projection.TestProjector;
import dev.annals.kernel.database.PoolFixture;
import dev.annals.tools.embedded.InstalledPostgres;
import dev.annals.tools.embedded.TestDatabase;
import dev.annals.tools.ops.Verify;
import io.vertx.mutiny.sqlclient.Pool;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A search finds the same records after a restore under another locale, and if another version made the index. */
@BesideTheService
class MovedIndexTest {

    private static final Map<String, String> LOCALES = Map.of(
            "c", "locale 'C'",
            "c_utf8", "locale 'C.UTF-8'",
            "turkish", "locale 'C' locale_provider icu icu_locale 'tr-TR'",
            "lithuanian", "locale 'C' locale_provider icu icu_locale 'lt-u-ks-level1'");

    /** Each text is the message, action and actor of a record. */
    private static final List<String> TEXTS = List.of(
            "λόγος",
            "café",
            "cafe\u0301",
            "straße",
            "STRASSE",
            "ISPARTA",
            "ısparta",
            "isparta",
            "İsparta",
            "ÌCE",
            "Жук",
            "ﬁle");

    /** Queries for whole values, and the numbers of the texts that they find, from 1. Words find more: accents do not count. */
    private static final Map<String, List<Long>> EXPECTED = new LinkedHashMap<>();

    static {
        EXPECTED.put("ΛΌΓΟΣ", List.of(1L));
        EXPECTED.put("λόγοσ", List.of(1L));
        EXPECTED.put("CAFE\u0301", List.of(2L, 3L));
        EXPECTED.put("café", List.of(2L, 3L));
        EXPECTED.put("Strasse", List.of(4L, 5L));
        EXPECTED.put("STRAẞE", List.of(4L, 5L));
        EXPECTED.put("Isparta", List.of(6L, 8L));
        EXPECTED.put("ısparta", List.of(7L));
        EXPECTED.put("i\u0307sparta", List.of(9L));
        EXPECTED.put("ìce", List.of(10L));
        EXPECTED.put("ЖУК", List.of(11L));
        EXPECTED.put("FILE", List.of(12L));
    }

    private static final Map<String, List<Long>> FOUND_BY_WORDS =
            Map.of("Isparta", List.of(6L, 8L, 9L), "i\u0307sparta", List.of(6L, 8L, 9L));

    /** Twice as many places as a page reads without an index. */
    private static final int RECORDS = 2_048;

    private record Limits(int scanLimit, int indexedMessageBytes, int indexedWords) implements SearchConfig {}

    @TempDir
    static Path directory;

    private static InstalledPostgres server;

    @BeforeAll
    static void startServer() throws Exception {
        server = InstalledPostgres.start(directory);
    }

    @AfterAll
    static void stopServer() {
        if (server != null) {
            server.close();
        }
    }

    @ParameterizedTest
    @CsvSource({"c,turkish", "c,c_utf8", "turkish,c", "lithuanian,c_utf8"})
    void aSearchFindsTheSameRecordsUnderAnotherLocale(String from, String to) throws Exception {
        String source = create(from, from + "_to_" + to);
        SqlFixture log = SqlFixture.on(server.url(source));
        TestDatabase.migrate(log.database());
        UUID project = append(log);
        assertThat(found(log, project, true)).isEqualTo(EXPECTED);
        Path dump = directory.resolve(source + ".dump");
        InstalledPostgres.run("pg_dump", "--format=custom", "--file=" + dump, "--dbname=" + server.libpq(source));
        String target = create(to, source + "_restored");

        InstalledPostgres.run("pg_restore", "--dbname=" + server.libpq(target), dump.toString());

        SqlFixture restored = SqlFixture.on(server.url(target));
        assertThat(found(restored, project, false)).isEqualTo(EXPECTED);
        assertThat(verify(restored)).startsWith("Sound: ");
    }

    @Test
    void anIndexOfAnotherVersionIsNotUsedAndIsRebuilt() throws Exception {
        SqlFixture log = SqlFixture.ofTheSchemaAlone();
        UUID project = append(log);
        assertThat(found(log, project, true)).isEqualTo(EXPECTED);
        // as another server may have made them
        log.run(
                "update annals.projection_checkpoint set mark = 'another' where projection = 'search'",
                "update annals.search_block set keys = array(select n from generate_series(1, cardinality(keys)) as n)");

        assertThat(complete(log, project)).isEqualTo(EXPECTED);
        assertThat(verify(log)).contains("the search index was made in another way");

        assertThat(found(log, project, true)).isEqualTo(EXPECTED);
        assertThat(verify(log)).startsWith("Sound: ");
    }

    private static String create(String locale, String name) throws SQLException {
        SqlFixture.on(server.url("postgres"))
                .runEach("create database " + name + " template template0 " + LOCALES.get(locale));
        return name;
    }

    /** Appends the texts, and more records after them. */
    private static UUID append(SqlFixture log) throws SQLException {
        UUID project = log.insertProject();
        log.run("insert into annals.audit_record (project_id, action, actor_id, message)"
                + " select '" + project + "', coalesce(t, 'other'), coalesce(t, 'other'), coalesce(t || '!', 'other')"
                + " from unnest(array['" + String.join("', '", TEXTS) + "'] || array_fill(null::text, array["
                + (RECORDS - TEXTS.size()) + "])) with ordinality as text (t, n) order by n");
        return project;
    }

    /** Searches by the index alone: a page may not read all records. */
    private static Map<String, List<Long>> found(SqlFixture log, UUID project, boolean projecting) throws Exception {
        return withPool(log, pool -> {
            SearchIndex index = new SearchIndex(pool, new Limits(64, 4096, 256));
            if (projecting) {
                new TestProjector(pool, List.of(index), 10_000).catchUp();
            }
            return ask(new DatabaseReader(pool, index), project, false);
        });
    }

    /** Searches page by page, with or without the index. */
    private static Map<String, List<Long>> complete(SqlFixture log, UUID project) throws Exception {
        return withPool(
                log,
                pool -> ask(
                        new DatabaseReader(pool, new SearchIndex(pool, new Limits(500, 4096, 256))), project, true));
    }

    private interface Work {
        Map<String, List<Long>> of(Pool pool) throws Exception;
    }

    private static Map<String, List<Long>> withPool(SqlFixture log, Work work) throws Exception {
        Pool pool = new PoolFixture(log.database(), Map.of()).open(4);
        try {
            return work.of(pool);
        } finally {
            pool.close().await().indefinitely();
        }
    }

    private static Map<String, List<Long>> ask(FeedReader reader, UUID project, boolean inPages) throws QueryException {
        Map<String, List<Long>> all = new TreeMap<>();
        for (String text : EXPECTED.keySet()) {
            List<Long> values = ask(reader, project, "action:\"" + text + '"', inPages);
            assertThat(ask(reader, project, "actor:\"" + text + '"', inPages))
                    .as(text)
                    .isEqualTo(values);
            for (String query : List.of(text, "message:" + text, "actor:" + text)) {
                assertThat(ask(reader, project, query, inPages))
                        .as(query)
                        .isEqualTo(FOUND_BY_WORDS.getOrDefault(text, values));
            }
            all.put(text, values);
        }
        return all;
    }

    private static List<Long> ask(FeedReader reader, UUID project, String query, boolean inPages)
            throws QueryException {
        Filter filter = Filter.NONE.and(QueryParser.parse(query, null));
        List<Long> ids = new ArrayList<>();
        FeedPage page = FilteredPages.read(reader, project, Order.ASCENDING, null, null, 10, filter);
        ids.addAll(FilteredPages.ids(page));
        while (inPages && page.next() != null) {
            page = FilteredPages.read(reader, project, Order.ASCENDING, page.next(), page.head(), 10, filter);
            ids.addAll(FilteredPages.ids(page));
        }
        assertThat(page.next()).as(query).isNull();
        return ids;
    }

    private static String verify(SqlFixture log) {
        StringWriter printed = new StringWriter();
        new Verify().run(log.database(), new PrintWriter(printed));
        return printed.toString();
    }
}
