package dev.annals.core.query;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.core.query.QueryParser.Words;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Text is folded by the rules of Unicode, with tables of the schema and not by the database's locale. */
@BesideTheService
class FoldTest {

    private static final String CHARACTERS = "(select i, chr(i) as c from generate_series(1, 1114111) as i"
            + " where i not between 55296 and 57343) as every";

    private final SqlFixture log = SqlFixture.ofTheSchemaAlone();

    @Test
    void theSameTextIsFoundHoweverItIsWritten() throws SQLException {
        for (List<String> same : List.of(
                List.of("λόγος", "ΛΌΓΟΣ", "λόγοσ", "ΛΟ\u0301ΓΟΣ"),
                List.of("café", "CAFÉ", "cafe\u0301"),
                List.of("straße", "STRASSE", "STRAẞE"),
                List.of("ﬁle", "FILE", "ＦＩＬＥ"),
                List.of("жук", "ЖУК"),
                List.of("ᾳ", "ᾼ", "αι"),
                List.of("i\u0307stanbul", "İSTANBUL"))) {
            assertThat(log.texts("select distinct annals.fold(t) from unnest(array['" + String.join("', '", same)
                            + "']) as t"))
                    .as(same.toString())
                    .hasSize(1);
        }
        assertThat(log.text("select annals.fold('Iı')")).isEqualTo("iı");
    }

    @Test
    void everyCharacterIsFoldedAsPostgresqlsOwnDataOfUnicodeSay() throws SQLException {
        assumeTrue(log.number("select current_setting('server_version_num')::integer / 10000") >= 18);
        assertThat(
                        log.texts(
                                "select to_hex(i) from " + CHARACTERS
                                        + " where c !~ ('[' || annals.later_characters() || ']')"
                                        + " and annals.fold(c) <> normalize(casefold(normalize(c, NFKD) collate pg_unicode_fast), NFKC)"))
                .isEmpty();
    }

    /** normalize() takes 8 seconds for such a text, and time with the square of its length. */
    @Test
    void longRunsOfCombiningCharactersAreDivided() throws SQLException {
        String combining = "'[' || annals.combining_characters() || ']{62}'";
        for (String hostile : List.of(
                "'a' || repeat(U&'\\0301', 16000) || repeat(U&'\\0327', 16000)",
                "repeat(U&'\\0344\\0327', 16000)",
                "'a' || repeat(U&'\\1DC4\\0301', 8000) || repeat(U&'\\1DC2\\0301', 8000)",
                "'a' || repeat(U&'\\1DC4', 10000) || repeat(U&'\\+01E030', 2) || repeat(U&'\\1DC2', 10000)",
                "repeat(U&'\\FF9E\\0327', 10000)",
                "repeat(U&'\\0897', 8000) || repeat(U&'\\0301\\0327', 8000)")) {
            log.run(
                    "set local statement_timeout = '20s'",
                    "select annals.words(" + hostile + " || n) from generate_series(1, 4) as n");
            assertThat(log.text("select annals.normalized(" + hostile + ", 'NFKD') ~ (" + combining + ")"))
                    .as(hostile)
                    .isEqualTo("f");
        }
        assertThat(log.text("select annals.words('x Z' || repeat(U&'\\0327\\0301', 99) || 'a"
                        + "' || repeat(U&'\\0301', 99) || 'lgo')"))
                .as("accents do not count, however many")
                .isEqualTo("{x,zalgo}");
        assertThat(log.text("select annals.fold('a' || repeat(U&'\\0327', 30) || repeat(U&'\\0301', 99))"
                        + " = annals.fold('A' || repeat(U&'\\0327', 30) || repeat(U&'\\0301', 99))"))
                .isEqualTo("t");
    }

    /** Also those that a newer PostgreSQL sorts. */
    @Test
    void everyCharacterThatNormalizationSortsEndsARun() throws SQLException {
        // U+0345 has the highest class, so normalization puts any other combining character before it.
        assertThat(log.texts("select to_hex(i) from " + CHARACTERS + " where normalize(U&'\\0345' || c, NFKD)"
                        + " <> U&'\\0345' || normalize(c, NFKD)"
                        + " and c !~ ('[' || annals.combining_characters() || annals.later_characters() || ']')"))
                .isEmpty();
    }

    /** Of a text with characters that PostgreSQL 15 does not know, the rest is folded like any other. */
    @Test
    void aNewerCharacterHidesNoOtherWord() throws SQLException {
        for (String later : List.of("0897", "+01E030", "+01E08F", "+010D50", "+01CCD6")) {
            assertThat(log.text("select annals.words(U&'CAFE\\0301 \\FF21\\" + later + "Caf\\00C9 \\" + later
                            + "\\0301 Z\\00FCrich')"))
                    .as(later)
                    .isEqualTo(log.text("select array['cafe', 'a' || lower_later || 'cafe', lower_later, 'zurich']"
                            + " from (select annals.fold(U&'\\" + later + "') as lower_later) as one"));
        }
    }

    @Test
    void theServiceAndTheDatabaseDivideTextIntoTheSameWords() throws SQLException {
        List<String> none = log.texts("select i from " + CHARACTERS + " where annals.words(c) = '{}'");
        assertThat(none)
                .isNotEmpty()
                .allSatisfy(i -> assertThat(Words.of(Character.toString(Integer.parseInt(i))))
                        .isEmpty());
    }
}
