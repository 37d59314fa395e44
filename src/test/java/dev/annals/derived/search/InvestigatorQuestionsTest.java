package dev.annals.derived.search;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.core.feed.DatabaseReader;
import dev.annals.core.feed.FeedQuery.Order;
import dev.annals.core.feed.FeedReader;
import dev.annals.core.query.Filter;
import dev.annals.core.query.QueryParser;
import dev.annals.core.record.StoredRecord;
import dev.annals.derived.projection.TestProjector;
import dev.annals.kernel.database.PoolFixture;
import io.vertx.mutiny.sqlclient.Pool;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.SQLException;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** A search for words finds exactly the records that have them, in any field and any script. */
@BesideTheService
public class InvestigatorQuestionsTest {

    private static final int RECORDS = 5_000;
    private static final List<String> NOTHING = List.of(
            "nobody",
            "metadata.session:>1000 OR metadata.amount:>1000",
            "*ппa*",
            "ip:10.1.0.0/16",
            "*" + session(77).substring(3, 9) + "*");

    private final SqlFixture log = SqlFixture.ofTheSchemaAlone();
    private final Pool pool = new PoolFixture(log.database(), Map.of()).open(4);

    private record Limits(int scanLimit) implements SearchConfig {}

    @AfterEach
    void closeThePool() {
        pool.close().await().indefinitely();
    }

    @TestFactory
    Stream<DynamicTest> eachQuestionFindsExactlyTheRecordsThatHaveIt() throws SQLException {
        UUID project = log.insertProject();
        log.run(insert(project, RECORDS));
        SearchIndex index = new SearchIndex(pool, new Limits(700));
        FeedReader reader = new DatabaseReader(pool, index);
        new TestProjector(pool, List.of(index), 10_000).catchUp();
        List<StoredRecord> all = FilteredPages.everyRecord(reader, project);
        assertThat(all).hasSize(RECORDS);
        return questions(all.get(1_234)).entrySet().stream()
                .map(question -> dynamicTest(question.getKey(), () -> {
                    List<Long> expected = all.stream()
                            .filter(question.getValue())
                            .map(StoredRecord::sequenceId)
                            .toList();
                    Filter filter = Filter.NONE.and(QueryParser.parse(question.getKey(), null));
                    assertThat(FilteredPages.walk(reader, project, Order.ASCENDING, 200, filter))
                            .isEqualTo(expected);
                    assertThat(expected.isEmpty()).isEqualTo(NOTHING.contains(question.getKey()));
                }));
    }

    /** A statement that appends records of many scripts. */
    public static String insert(UUID project, int records) {
        return """
                insert into annals.audit_record (
                  project_id, action, actor_type, actor_id, actor_name, subject_type, subject_id, outcome, ip_address, message, metadata)
                select '%s',
                  (array['user.login', 'user.logout', 'volume_create', 'volume_delete', 'grant-add'])[1 + n %% 5],
                  'user', 'u-' || n %% 10,
                  (array['Søren Kierkegård', 'Jane Doe', 'Jane Austen', 'José Müller', '山田太郎', 'Ольга Йорк', 'Ελένη Παππάς', '김민수',
                    'Jean D’Arc', 'Cafe\u0301 Royal'])[1 + n %% 10],
                  'volume', 'vol-' || n %% 7, (array['success', 'denied', null])[1 + n %% 3],
                  ('10.0.0.' || n %% 9)::inet,
                  (array['Disk is full', null, '東京都の請求書を削除', 'Größe geändert', 'naïve approach', 'iPhone用の新しいアプリ'])[1 + n / 7 %% 6],
                  jsonb_build_object('request_id', 'req-' || n, 'session', md5(n::text), 'amount', n %% 500, 'tags', array['red', 'gelb'],
                    'agent', 'Mozilla/5.0', 'changes', jsonb_build_object('plan', case when n %% 11 = 0 then 'pro' else 'free' end))
                from generate_series(1, %d) as n""".formatted(project, records);
    }

    /**
     * Each question with the records that answer it.
     *
     * @param one any of the records
     */
    public static Map<String, Predicate<StoredRecord>> questions(StoredRecord one) {
        Map<String, Predicate<StoredRecord>> all = new LinkedHashMap<>();
        for (String soren : List.of("Søren", "soren", "SOREN KIERKEGARD", "actor:kierkegård")) {
            all.put(soren, actor("Søren Kierkegård"));
        }
        all.put("jane", actor("Jane Doe").or(actor("Jane Austen")));
        all.put("actor:jane", actor("Jane Doe").or(actor("Jane Austen")));
        all.put("actor:\"Jane Doe\"", actor("Jane Doe"));
        all.put("actor:aus*", actor("Jane Austen"));
        all.put("muller", actor("José Müller"));
        all.put("jose müller", actor("José Müller"));
        all.put("山田", actor("山田太郎"));
        all.put("田太郎", actor("山田太郎"));
        all.put("山", actor("山田太郎"));
        all.put("ольга йорк", actor("Ольга Йорк"));
        all.put("ελενη παππας", actor("Ελένη Παππάς"));
        all.put("ΠΑΠΠΆΣ", actor("Ελένη Παππάς"));
        all.put("민수", actor("김민수"));
        all.put("d'arc", actor("Jean D’Arc"));
        all.put("café", actor("Cafe\u0301 Royal"));
        all.put("user.login", action("user.login"));
        all.put("login", action("user.login"));
        all.put("-action:volume_* -grant", action("user.login").or(action("user.logout")));
        all.put("10.0.0.3", record -> "10.0.0.3".equals(record.record().ipAddress()));
        all.put(
                "ip:10.0.0.0/31",
                record ->
                        List.of("10.0.0.0", "10.0.0.1").contains(record.record().ipAddress()));
        all.put(one.record().id().toString(), record -> record.sequenceId() == one.sequenceId());
        all.put("req-77", metadata("\"req-77\""));
        all.put("metadata.request_id:req-77", metadata("\"req-77\""));
        all.put("metadata.amount:42", metadata("\"amount\": 42,").or(metadata("\"amount\":42,")));
        all.put("metadata.amount:>497", metadata("\"amount\": 498,").or(metadata("\"amount\": 499,")));
        all.put("metadata.amount:>=498", metadata("\"amount\": 498,").or(metadata("\"amount\": 499,")));
        all.put("metadata.amount:<1", metadata("\"amount\": 0,"));
        all.put("metadata.amount:>6 metadata.amount:<=7.0", metadata("\"amount\": 7,"));
        all.put("metadata.session:>1000 OR metadata.amount:>1000", record -> false);
        all.put("pro denied", metadata("\"pro\"").and(outcome("denied")));
        all.put("metadata.changes.plan:pro", metadata("\"pro\""));
        all.put("mozilla request_id", record -> true);
        all.put("東京", message("東京都の請求書を削除"));
        all.put("請求書", message("東京都の請求書を削除"));
        all.put("grösse geandert", message("Größe geändert"));
        all.put("naive", message("naïve approach"));
        all.put("message:disk", message("Disk is full"));
        all.put(
                "\"is full\" vol-3",
                message("Disk is full")
                        .and(record -> "vol-3".equals(record.record().subject().id())));
        all.put(
                "(soren OR 山田) outcome:success",
                actor("Søren Kierkegård").or(actor("山田太郎")).and(outcome("success")));
        all.put("kierk*", actor("Søren Kierkegård"));
        all.put("KIERKEGÅ*", actor("Søren Kierkegård"));
        all.put("*ustE*", actor("Jane Austen"));
        all.put("actor:*ierkeg*", actor("Søren Kierkegård"));
        all.put("*ппa*", record -> false);
        all.put("*αππ*", actor("Ελένη Παππάς"));
        all.put("iph*", message("iPhone用の新しいアプリ"));
        all.put("*hone*", message("iPhone用の新しいアプリ"));
        all.put("アプリ", message("iPhone用の新しいアプリ"));
        all.put("ﾌﾟﾘ", message("iPhone用の新しいアプリ"));
        all.put("*請求*", message("東京都の請求書を削除"));
        all.put("東京*", message("東京都の請求書を削除"));
        all.put("action:volume_*", action("volume_create").or(action("volume_delete")));
        all.put("action:*LUME_d*", action("volume_delete"));
        all.put("outcome:*enie*", outcome("denied"));
        all.put("actor.type:us*", record -> true);
        all.put("10.0.0.*", record -> true);
        all.put("ip:10.0.0.4/30", address("10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.7"));
        all.put("ip:10.0.0.3/32", address("10.0.0.3"));
        all.put("ip:10.1.0.0/16", record -> false);
        all.put("ip:8.0.0.0/5", record -> true);
        all.put("metadata.session:" + session(77), metadata(session(77)));
        all.put(session(77).substring(0, 4) + "*", begins(session(77).substring(0, 4)));
        all.put(session(77).substring(0, 3) + "*", begins(session(77).substring(0, 3)));
        all.put(session(77).substring(0, 11) + "*", metadata(session(77)));
        all.put("*" + session(77).substring(3, 9) + "*", record -> false);
        all.put(
                "id:" + one.record().id().toString().substring(0, 20) + "*",
                record -> record.record()
                        .id()
                        .toString()
                        .startsWith(one.record().id().toString().substring(0, 20)));
        all.put("nobody", record -> false);
        return all;
    }

    private static String session(int record) {
        try {
            byte[] digest = MessageDigest.getInstance("MD5")
                    .digest(Integer.toString(record).getBytes(UTF_8));
            return HexFormat.of().formatHex(digest);
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    private static Predicate<StoredRecord> begins(String session) {
        return record -> record.record().metadata().replace(" ", "").contains("\"session\":\"" + session);
    }

    private static Predicate<StoredRecord> address(String... addresses) {
        return record -> List.of(addresses).contains(record.record().ipAddress());
    }

    private static Predicate<StoredRecord> actor(String name) {
        return record -> name.equals(record.record().actor().name());
    }

    private static Predicate<StoredRecord> action(String action) {
        return record -> action.equals(record.record().action());
    }

    private static Predicate<StoredRecord> outcome(String outcome) {
        return record -> outcome.equals(record.record().outcome());
    }

    private static Predicate<StoredRecord> message(String message) {
        return record -> message.equals(record.record().message());
    }

    private static Predicate<StoredRecord> metadata(String part) {
        return record -> record.record().metadata().contains(part);
    }
}
