package dev.annals.derived.search;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.derived.projection.TestProjector;
import dev.annals.kernel.database.PoolFixture;
import io.vertx.mutiny.sqlclient.Pool;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The dictionary has the terms of the indexed records, without ids, and is bounded. */
@BesideTheService
class DictionaryTest {

    private static final int ACTION = 1;
    private static final int WORD = 6;
    private static final int ACTOR_TYPE = 12;
    private static final int NAME = 14;

    private final SqlFixture log = SqlFixture.ofTheSchemaAlone();
    private final Pool pool = new PoolFixture(log.database(), Map.of()).open(4);

    private record Limits(int scanLimit) implements SearchConfig {}

    @AfterEach
    void closeThePool() {
        pool.close().await().indefinitely();
    }

    @Test
    void theTermsThatBeginSoAreFoundAsTheyWereWritten() throws SQLException {
        UUID project = log.insertProject();
        append(project, 1_024);
        index(100_000);
        assertThat(terms(project, ACTION, "USER.")).containsExactly("User.Login", "user.logout");
        assertThat(terms(project, ACTION, "")).containsExactly("User.Login", "user.logout", "Ünder_way");
        assertThat(terms(project, ACTOR_TYPE, "s")).containsExactly("Service");
        assertThat(terms(project, NAME, "request")).containsExactly("request_id", "RequestId");
        assertThat(terms(project, WORD, "sör")).containsExactly("soren");
        assertThat(terms(project, WORD, "U")).containsExactly("under", "user");
        assertThat(terms(project, WORD, "%")).isEmpty();
        assertThat(log.texts("select count(*) from annals.terms_from('" + project + "', 6, '', 3)"))
                .containsExactly("3");
    }

    @Test
    void idsAreNoTerms() throws SQLException {
        for (String id :
                List.of("4f3a", "019ae2f1", "cafe1", "1234", "user1234", "x7kq9z", "v1stgxr8z5", "a".repeat(65))) {
            assertThat(log.texts("select annals.is_id('" + id + "')")).as(id).containsExactly("t");
        }
        for (String word : List.of("jane", "cafe", "u2", "123", "iphone15", "sha256", "v2", "ünder", "a".repeat(64))) {
            assertThat(log.texts("select annals.is_id('" + word + "')"))
                    .as(word)
                    .containsExactly("f");
        }
    }

    /** A field without room keeps its terms, and says that it lacks some. */
    @Test
    void aWriterCannotFillTheDictionary() throws SQLException {
        UUID project = log.insertProject();
        append(project, 1_024);
        log.insertAsWriter(project, "'w' || chr(97 + n % 26) || chr(97 + n / 26 % 26), null", 1_024);
        log.insertAsWriter(project, "repeat(U&'\\FDFA', 200), null", 1_024);
        index(300);
        assertThat(log.texts("select field from annals.term where term = '' order by field"))
                .containsExactly("1", "6");
        assertThat(log.texts("select max(count) <= 301 from (select count(*) from annals.term group by field) as one"))
                .containsExactly("t");
        assertThat(terms(project, ACTION, "user.")).hasSize(2);
    }

    @Test
    void theDictionaryOfAnOlderVersionIsMadeAnew() throws SQLException {
        UUID project = log.insertProject();
        append(project, 1_024);
        index(100_000);
        List<String> terms = log.texts("select t::text from annals.term as t order by 1");
        log.run(
                "update annals.projection_checkpoint set mark = 'another' where projection = 'search'",
                "insert into annals.term values ('" + project + "', 0, 6, 'stale')");
        index(100_000);
        assertThat(log.texts("select t::text from annals.term as t order by 1")).isEqualTo(terms);
    }

    private void append(UUID project, int count) throws SQLException {
        log.run("insert into annals.audit_record (project_id, action, actor_type, actor_name, metadata) select '"
                + project
                + "', (array['User.Login', 'user.logout', 'Ünder_way'])[1 + n % 3], 'Service', 'Søren', jsonb_build_object("
                + "'request_id', md5(n::text), 'RequestId', n, 'tags', jsonb_build_array('red'))"
                + " from generate_series(1, " + count + ") as n");
    }

    private void index(int terms) {
        new TestProjector(pool, List.of(new SearchIndex(pool, new Limits(700), 4_096, 256, terms)), 10_000).catchUp();
    }

    private List<String> terms(UUID project, int field, String beginning) throws SQLException {
        return log.texts("select annals.terms_from('" + project + "', " + field + ", '" + beginning + "', 100)");
    }
}
