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
                                "select to_hex(i) from " + CHARACTERS + " where not annals.has_later_characters(c)"
                                        + " and annals.fold(c) <> normalize(casefold(normalize(c, NFKD) collate pg_unicode_fast), NFKC)"))
                .isEmpty();
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
