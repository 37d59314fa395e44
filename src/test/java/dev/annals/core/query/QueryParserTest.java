package dev.annals.core.query;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.annals.BesideTheService;
import dev.annals.Load;
import dev.annals.core.query.QueryParser.QueryException;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@BesideTheService
class QueryParserTest {

    private static final OffsetDateTime NOW = OffsetDateTime.parse("2026-02-03T04:05:06Z");

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "volume created         | \"volume\" \"created\"",
                "cache-7, by Jane!      | \"cache 7\" \"by\" \"Jane\"",
                "a - b -- c --d & §     | \"a\" \"b\" \"c\" \"d\" \"§\"",
                "\"disk is full\"       | \"disk is full\"",
                "a 5\" disk             | \"a\" \"5\" \"disk\"",
                "f(x y) g()             | \"f\" \"x\" \"y\" \"g\"",
                "vol* new-vol* \"a*b\" *  | \"vol\"* \"new vol\"* \"a b\"",
                "\"disk fu\"*           | \"disk fu\"*",
                "at 12:30: http://x y: std::z www.a.org:80 | \"at\" \"12 30\" \"http x\" \"y\" \"std z\" \"www a org 80\"",
                "or and not             | \"or\" \"and\" \"not\"",
                "a AND b                | \"a\" \"b\"",
                "a OR b-c               | \"a\" OR \"b c\"",
                "(a OR b) c             | (\"a\" OR \"b\") \"c\"",
                "((a (b)) c)            | \"a\" \"b\" \"c\"",
                "-a NOT b -(c d) -c-d   | -\"a\" -\"b\" -(\"c\" \"d\") -\"c d\"",
                "-\"a b\" -(-a)         | -\"a b\" -(-\"a\")",
                "action:volume_*        | action:volume_*",
                "*lum* x-y *-*          | *lum* \"x y\"",
                "action:*volume_* actor:(*jan*, joe) | action:*volume_* (actor:*jan* OR actor:joe)",
                "message:*ull* metadata.a:*red* actor.id:*u1x* | message:*ull* metadata.a:*red* actor.id:*u1x*",
                "*東京*                  | \"東京\"",
                "action:\"volume_*\"    | action:\"volume_*\"",
                "Actor:jane@example.org | actor:jane-example-org",
                "actor:u:1 actor.id:x   | actor:u-1 actor.id:x",
                "actor:* actor:\"u:1\"  | actor:* actor:\"u:1\"",
                "-outcome:success       | -outcome:success",
                "action:a,b,\"c d\"     | action:a OR action:b OR action:\"c d\"",
                "action:(a OR b, c*) x  | (action:a OR action:b OR action:c*) \"x\"",
                "action:OR              | action:OR",
                "message:disk-full      | message:\"disk full\"",
                "ip:10.0.0.0/8          | ip:10.0.0.0/8",
                "ip:2001:DB8:0::/32     | ip:2001:db8::/32",
                "ip_address:0:0::1      | ip:\"::1\"",
                "ip:10.0.*              | ip:\"10.0.\"*",
                "ip:::ffff:10.2.3.4     | ip:\"10.2.3.4\"",
                "ip:::ffff:10.0.0.0/104 | ip:10.0.0.0/8",
                "ip:::FFFF:0:0/96       | ip:0.0.0.0/0",
                "ip:::ffff:10.0.*       | ip:\"10.0.\"*",
                "ip:::ffff:10:*         | ip:\"::ffff:10:\"*",
                "recorded_by:role:app   | recorded_by:\"role:app\"",
                "metadata.request_id:7f | metadata.request_id:7f",
                "metadata.a.\"b.c\".0:x* | metadata.a.\"b.c\".0:x*",
                "metadata.json was read | \"metadata json\" \"was\" \"read\"",
                "metadata.a:\"q\\\"\\\\\"  | metadata.a:\"q\\\"\\\\\"",
                "occurred_at:2026-01-01..2026-02-01 | occurred_at:2026-01-01T00:00:00.000000Z..2026-02-01T00:00:00.000000Z",
                "occurred_at:2026-01-01..           | occurred_at:2026-01-01T00:00:00.000000Z..",
                "recorded_at:..2026-01-01T02:00+02:00 | recorded_at:..2026-01-01T00:00:00.000000Z",
                "timestamp:2026-01-31               | occurred_at:2026-01-31T00:00:00.000000Z..2026-02-01T00:00:00.000000Z",
                "timestamp:2026-01-31T23:59         | occurred_at:2026-01-31T23:59:00.000000Z..2026-02-01T00:00:00.000000Z",
                "timestamp:2026-01-31T23:59-01:00   | occurred_at:2026-02-01T00:59:00.000000Z..2026-02-01T01:00:00.000000Z",
                "timestamp:2026-01-31T23:59:59      | occurred_at:2026-01-31T23:59:59.000000Z..2026-02-01T00:00:00.000000Z",
                "timestamp:2026-01-31T23:59:59.5Z   | occurred_at:2026-01-31T23:59:59.500000Z..2026-01-31T23:59:59.500001Z",
                "timestamp:9999-12-31               | occurred_at:9999-12-31T00:00:00.000000Z..",
                "last:24h                           | occurred_at:2026-02-02T04:05:06.000000Z..2026-02-03T04:06:06.000000Z",
                "last:2w                            | occurred_at:2026-01-20T04:05:06.000000Z..2026-02-03T04:06:06.000000Z",
            })
    void eachTextMeansThis(String text, String meaning) throws QueryException {
        Query query = QueryParser.parse(text, NOW);
        assertThat(query).hasToString(meaning);
        assertThat(QueryParser.parse(meaning, NOW)).isEqualTo(query);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "---                    | 4 | a letter or a digit",
                "actor:jane acton:foo   | 12 | there is no field \"acton\", expected one of id, action, actor, ",
                "actor.nick:foo         | 1 | there is no field \"actor.nick\"",
                "😀 acton:foo            | 3 | there is no field",
                "actor: jane            | 7 | there is no value",
                "actor:                 | 7 | there is no value",
                "actor:\"\"             | 7 | there is no value",
                "actor:a, b             | 9 | there is no value",
                "actor:a(b)             | 8 | the value ends before this",
                "actor:\"a\"b           | 10 | the value ends before this",
                "action:vol*me          | 11 | expected it at the end",
                "action:*a*a*           | 8 | expected it at the end",
                "x vol*me               | 3 | a * stands for the rest of a word",
                "*jane                  | 1 | a * stands for the rest of a word",
                "vol**                  | 1 | a * stands for the rest of a word",
                "a,*b*c*                | 1 | a * stands for the rest of a word",
                "x *ab*                 | 3 | expected 3 letters or more",
                "action:*ab*            | 8 | expected 3 letters or more",
                "*a.bcd*                | 1 | expected one without punctuation",
                "metadata.a:*東京*       | 12 | expected a word without a field",
                "id:*019a*              | 4 | no text within its values",
                "action:(a b)           | 11 | expected OR, a comma or )",
                "action:(a OR)          | 13 | there is no value",
                "action:()              | 9 | there is no value",
                "action:(a              | 8 | not closed",
                "a (b                   | 3 | not closed",
                "a) b                   | 2 | no parenthesis to close",
                "a \"b                  | 3 | this quote is not closed",
                "a OR b c               | 3 | in two ways",
                "a b OR c               | 5 | in two ways",
                "OR b                   | 1 | nothing stands before OR",
                "a OR OR b              | 6 | nothing stands before OR",
                "a OR                   | 5 | nothing stands behind OR",
                "(a AND) b              | 7 | nothing stands behind AND",
                "NOT                    | 4 | nothing stands behind NOT",
                "a NOT OR b             | 7 | nothing to exclude",
                "ip:10.0.0.256          | 4 | no IP address",
                "ip:10.0.0.0/33         | 13 | a number from 0 to 32",
                "ip:::1/129             | 8 | a number from 0 to 128",
                "ip:10.0.0.0/8*         | 4 | no IP address",
                "ip:::ffff:10.0.0.0/8   | 20 | expected a number from 96 to 128",
                "occurred_at:yesterday  | 13 | this is no time",
                "occurred_at:2026-01-01..2026-13-01 | 25 | this is no time",
                "occurred_at:2026-02-01..2026-01-01 | 25 | before the one at which the range starts",
                "occurred_at:..         | 13 | this is no time",
                "last:24                | 6 | no length of time",
                "last:0h                | 6 | no length of time",
                "message:!              | 9 | there is no word",
            })
    void eachErrorPointsAtItsCharacter(String text, int position, String message) {
        Throwable wrong = catchThrowable(() -> QueryParser.parse(text, NOW));
        assertThat(wrong)
                .isInstanceOf(QueryException.class)
                .hasMessageStartingWith("character " + position + ": ")
                .hasMessageContaining(message);
        assertThat(((QueryException) wrong).position()).isEqualTo(position);
    }

    @Test
    void storedQueriesAcceptOnlyFixedTimes() {
        assertThatThrownBy(() -> QueryParser.parse("a last:24h", null))
                .isInstanceOf(QueryException.class)
                .hasMessageStartingWith("character 8: this would move on with the clock");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void limitsAreKept(int unit) throws QueryException {
        String word = "a ".repeat(unit);
        assertThat(QueryParser.parse(word.repeat(QueryParser.MAX_TERMS / unit), NOW))
                .isNotNull();
        assertThatThrownBy(() -> QueryParser.parse("a " + word.repeat(QueryParser.MAX_TERMS / unit), NOW))
                .hasMessageContaining("more than 128 words and values");
        assertThat(QueryParser.parse("a".repeat(QueryParser.MAX_LENGTH), NOW)).isNotNull();
        assertThatThrownBy(() -> QueryParser.parse("a".repeat(QueryParser.MAX_LENGTH + 1), NOW))
                .hasMessageContaining("character 1025: it has more than 1024 characters");
        String open = unit == 1 ? "(" : "NOT ";
        String close = unit == 1 ? ")" : "";
        assertThat(QueryParser.parse(
                        open.repeat(QueryParser.MAX_DEPTH) + "a" + close.repeat(QueryParser.MAX_DEPTH), NOW))
                .isNotNull();
        assertThatThrownBy(() -> QueryParser.parse(
                        open.repeat(QueryParser.MAX_DEPTH + 1) + "a" + close.repeat(QueryParser.MAX_DEPTH + 1), NOW))
                .hasMessageContaining("stand in one another");
        assertThatThrownBy(() -> QueryParser.parse("a \0", NOW)).hasMessageContaining("character 3: there is a NUL");
    }

    /** Any text is a query that its own text gives again, or an error at one of its characters. */
    @Test
    void anyTextIsAQueryOrAnErrorAtACharacter() throws QueryException {
        String[] pieces = {
            "a",
            "volume",
            "-",
            "--",
            "(",
            ")",
            "\"",
            "\\",
            "*",
            ",",
            ":",
            "/",
            "..",
            ".",
            " ",
            "\t",
            "\u3000",
            "\u2003",
            "OR",
            " OR ",
            " AND ",
            "NOT ",
            "action:",
            "actor:",
            "actor.id:",
            "ip:",
            "10.0.0.1",
            "/8",
            "::1",
            "metadata.",
            "metadata.a:",
            "last:",
            "24h",
            "occurred_at:",
            "2026-01-01",
            "2026-01-01T10:00",
            "Z",
            "recorded_at:",
            "message:",
            "x:",
            "\0",
            "é",
            "😀",
            "\ud83d",
            "§",
            "İ",
            "9999-12-31",
            "0001-01-01",
            "99999w"
        };
        Random random = new Random(7);
        int read = 0;
        int texts = Load.times(20_000, 1_000_000);
        for (int i = 0; i < texts; i++) {
            StringBuilder made = new StringBuilder();
            for (int piece = random.nextInt(1, 14); piece > 0; piece--) {
                if (random.nextInt(20) == 0) {
                    made.append((char) random.nextInt(0x10000));
                } else {
                    made.append(pieces[random.nextInt(pieces.length)]);
                }
            }
            String text = made.toString();
            Query query;
            try {
                query = QueryParser.parse(text, NOW);
            } catch (QueryException e) {
                assertThat(e.position()).as(text).isBetween(1, text.codePointCount(0, text.length()) + 1);
                continue;
            }
            read++;
            assertThat(QueryParser.parse(query.toString(), NOW)).as(text).isEqualTo(query);
        }
        assertThat(read).isGreaterThan(texts / 10);
    }

    /** Otherwise a query of many words would divide each text as many times. */
    @Test
    void aTextIsDividedIntoWordsOnceForAnyNumberOfPhrases() throws QueryException {
        String sql = new Filter.Condition(QueryParser.parse("actor:(a OR b OR c) (d OR e OR message:f,g)", null)).sql();
        for (String text : List.of("r.actor_id", "r.actor_name", "annals.record_text(r)", "r.message")) {
            assertThat(sql).containsOnlyOnce("annals.word_text(" + text + ")");
        }
    }
}
