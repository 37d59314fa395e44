package dev.annals.core.record;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** No writer's record and no project looks like one of the administration. */
@BesideTheService
class ReservedActionsTest {

    private static final List<String> ALIKE = List.of(
            "annals.",
            "annals.redact",
            "ANNALS.REDACT",
            "Annals.redact",
            "annaIs.redact", // a capital I
            "anna1s.redact",
            "anna|s.redact",
            " annals.redact",
            "\tannals.redact",
            "an nals.redact",
            "annals .redact",
            "\u0001annals.redact",
            "annals\u007f.redact",
            "\u200bannals.redact", // zero-width space
            "ann\u200bals.redact",
            "annals\u2060.redact",
            "annals\u00ad.redact", // soft hyphen
            "\ufeffannals.redact",
            "ann\ufe0fals.redact", // variation selector
            "ann\udb40\udc61als.redact", // tag
            "\u202eannals.redact", // override of the direction
            "ann\u3164als.redact", // Hangul filler
            "ann\u2800als.redact", // Braille blank
            "\u00a0annals.redact",
            "\u0430nnals.redact", // Cyrillic
            "\u0410nnals.redact",
            "annal\u0455.redact",
            "a\u043f\u043fals.redact",
            "\u03b1nnals.redact", // Greek
            "a\u03b7nals.redact",
            "anna\u0399s.redact",
            "anna\u0406s.redact",
            "anna\u04cfs.redact",
            "\u13aannals.redact", // Cherokee
            "annal\u13da.redact",
            "a\u0578nals.redact", // Armenian
            "anna\u05d5s.redact", // Hebrew
            "anna\u0627s.redact", // Arabic
            "\ua4eennals.redact", // Lisu
            "\uff41\uff4e\uff4e\uff41\uff4c\uff53\uff0eredact", // full width
            "\ud835\udc1annals.redact", // mathematical
            "\u24d0nnals.redact", // circled
            "\ud83c\udd70nnals.redact", // squared
            "\ud83c\udde6\ud83c\uddf3\ud83c\uddf3\ud83c\udde6\ud83c\uddf1\ud83c\uddf8.redact", // regional indicators
            "\u1d00\u0274\u0274\u1d00\u029f\ua731.redact", // small capitals
            "\u00aa\u207f\u207f\u1d43\u02e1\u02e2.redact", // superscripts
            "an\u3381ls.redact", // one character for nA
            "anna\u02aa.redact", // one character for ls
            "\u00e1nnals.redact",
            "a\u0301nnals.redact",
            "a\u05b0nnals.redact", // a mark of another script
            "an\u0337nals.redact",
            "anna\u0142s.redact",
            "annals\uff0eredact",
            "annals\u2024redact",
            "annals\u3002redact",
            "annals\u00b7redact",
            "annals\u0660redact",
            "annals\u2026redact");

    private static final List<String> OTHER = List.of(
            "annals",
            "annals_backup",
            "annals-app.login",
            "annalist.create",
            "annal.s",
            "x.annals.redact",
            "account.create",
            "\u00fcber.annals.",
            "\u043b\u043e\u0433\u0438\u043d",
            "\u0430\u043d\u043d\u0430\u043b\u044b.\u0447\u0442\u0435\u043d\u0438\u0435", // annals in Russian
            "\u5be9\u8a08annals.redact",
            "\u76e3\u67fb",
            "\u1107annals.");

    private final SqlFixture schema = SqlFixture.ofTheSchemaAlone();

    @Test
    void theServiceAndTheSchemaRefuseTheSameActions() throws Exception {
        for (String action : ALIKE) {
            assertThat(AuditRecord.Confusables.isReserved(action)).as(action).isTrue();
            assertThat(isReservedInTheSchema(action)).as(action).isTrue();
        }
        for (String action : OTHER) {
            assertThat(AuditRecord.Confusables.isReserved(action)).as(action).isFalse();
            assertThat(isReservedInTheSchema(action)).as(action).isFalse();
        }
    }

    @Test
    void everyCharacterLooksTheSameToBoth() throws Exception {
        List<String> differences = new ArrayList<>();
        for (int from = 1; from < 0x110000; from += 0x800) {
            if (from > 0xd800 && from < 0xe000) {
                continue;
            }
            int to = Math.min(from + 0x800, from < 0xd800 ? 0xd800 : 0x110000);
            List<String> there = schema.texts("select annals.skeleton(chr(c)) from generate_series(" + from + ", "
                    + (to - 1) + ") as c order by c");
            List<String> here = IntStream.range(from, to)
                    .mapToObj(c -> AuditRecord.Confusables.skeleton(Character.toString(c)))
                    .toList();
            for (int i = 0; i < here.size(); i++) {
                // Later versions of Unicode decompose more characters. Those that become letters that count are in both
                // tables.
                if (!here.get(i).equals(there.get(i)) && (Character.isDefined(from + i) || counts(there.get(i)))) {
                    differences.add("U+%04X: %s, %s".formatted(from + i, here.get(i), there.get(i)));
                }
            }
        }
        assertThat(differences).isEmpty();
    }

    private static boolean counts(String skeleton) {
        return skeleton.chars().anyMatch(c -> "anls.".indexOf(c) >= 0);
    }

    /** The schema makes no skeleton of an action in ASCII. */
    @Test
    void inAsciiWhatIsReservedFollowsTheSkeleton() throws Exception {
        assertThat(schema.texts("""
                        select quote_literal(changed) from generate_series(1, 8) as at, generate_series(1, 127) as c,
                          generate_series(0, 1) as replaced, unnest(array['annals.x', 'ANNALS.X', 'a nna1s.']) as action,
                          overlay(action placing chr(c) from at for replaced) as changed
                        where annals.is_reserved(changed) <> starts_with(annals.skeleton(changed), 'annals.')
                        """)).isEmpty();
    }

    @Test
    void noWriterRecordsOrNamesWhatLooksLikeTheServicesOwn() throws Exception {
        String project = schema.insertProject().toString();
        for (String action : ALIKE) {
            assertThatThrownBy(() -> asWriter(project, action)).as(action).hasMessageContaining("action_reserved");
        }
        for (String action : OTHER) {
            asWriter(project, action);
        }
        for (String name :
                List.of("Annals", "annaIs", "annals\u200b", " annals", "\u0430nnals", "\uff41nnals", "\u00e1nnals")) {
            assertThatThrownBy(() -> schema.run("select annals.create_project('" + name + "', gen_random_uuid())"))
                    .as(name)
                    .hasMessageContaining("project_name_reserved");
        }
        schema.run("select annals.create_project('\u5be9\u8a08 annals', gen_random_uuid())");
    }

    private void asWriter(String project, String action) throws SQLException {
        schema.run(
                "select annals.grant_writer(role_name => 'annals_writer', project_id => '" + project + "')",
                "set role annals_writer",
                "insert into annals.audit_record (project_id, action) values ('" + project + "', '" + action + "')");
    }

    private boolean isReservedInTheSchema(String action) throws SQLException {
        return schema.text("select annals.is_reserved('" + action + "')").equals("t");
    }
}
