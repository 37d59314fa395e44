package dev.annals.proof;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.derived.proof.Hkdf;
import dev.annals.derived.proof.MasterKey;
import dev.annals.derived.proof.SigningKey;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Signed notes and keys of the specifications. */
@BesideTheService
class NoteTest {

    private static final String ORIGIN = "audit.example.org/v1/projects/a/log/1";

    private final SigningKey key = MasterKey.draw().of(ORIGIN);
    private final Checkpoint checkpoint = new Checkpoint(ORIGIN, 5, Hash.of("root"));

    /** The example of C2SP signed-note. */
    @Test
    void theNoteOfTheSpecificationIsSignedByItsKey() {
        VerifierKey known = VerifierKey.parse("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k");
        String note = """
                This is an example message.

                — example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=
                """;
        assertThat(Note.parse(note).signedBy(List.of(known))).containsExactly(known);
        Note changed = Note.parse(note.replace("example message", "example massage"));
        assertThatThrownBy(() -> changed.signedBy(List.of(known))).hasMessageContaining("does not hold");
    }

    /** RFC 5869, appendix A.1. */
    @Test
    void keysAreDerivedAsInTheStandard() {
        byte[] derived = Hkdf.derive(
                HexFormat.of().parseHex("0b".repeat(22)),
                HexFormat.of().parseHex("000102030405060708090a0b0c"),
                HexFormat.of().parseHex("f0f1f2f3f4f5f6f7f8f9"),
                42);
        assertThat(HexFormat.of().formatHex(derived))
                .isEqualTo("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
    }

    /** RFC 8032, section 7.1, test 2. */
    @Test
    void theSignatureIsThatOfTheStandard() {
        SigningKey standard = SigningKey.of(
                "a", HexFormat.of().parseHex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"));
        assertThat(standard.verifier().toString())
                .endsWith("+"
                        + Base64.getEncoder()
                                .encodeToString(HexFormat.of()
                                        .parseHex(
                                                "013d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")));
    }

    @Test
    void aCheckpointIsOpenedByAnyKeyOfItsLogAndByNoOther() {
        SigningKey second = MasterKey.draw().of(ORIGIN);
        String note = SigningKey.sign(checkpoint, List.of(key, second)).toString();
        assertThat(Checkpoint.open(note, List.of(key.verifier()))).isEqualTo(checkpoint);
        assertThat(Checkpoint.open(note, List.of(second.verifier()))).isEqualTo(checkpoint);
        SigningKey stranger = MasterKey.draw().of(ORIGIN);
        assertThatThrownBy(() -> Checkpoint.open(note, List.of(stranger.verifier())))
                .hasMessageContaining("no key of");
        SigningKey otherLog = MasterKey.draw().of("other");
        String foreign = SigningKey.sign(checkpoint, List.of(otherLog)).toString();
        assertThatThrownBy(() -> Checkpoint.open(foreign, List.of(otherLog.verifier())))
                .hasMessageContaining("of which no key is known");
    }

    @Test
    void invalidNotesAreRefused() {
        String note = SigningKey.sign(checkpoint, List.of(key)).toString();
        for (String wrong : List.of(
                "",
                "\n\n",
                checkpoint.text(),
                note.stripTrailing(),
                note + "more\n",
                note.replace("\u2014", "-"),
                note.replace('5', '\u0000'),
                note + note.substring(note.indexOf('\u2014')).repeat(64))) {
            assertThatThrownBy(() -> Note.parse(wrong)).isInstanceOf(IllegalArgumentException.class);
        }
        for (String wrong :
                List.of("a\n05\n" + Hash.EMPTY_TREE + "\n", "a\n-1\n" + Hash.EMPTY_TREE + "\n", "a\n1\nx\n")) {
            assertThatThrownBy(() -> Checkpoint.of(new Note(wrong, List.of())))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void keysAreReadStrictly() {
        String text = key.verifier().toString();
        assertThat(VerifierKey.parse(text)).isEqualTo(key.verifier());
        for (String wrong :
                List.of("", "a+b+c", text + "x", text.replace("audit", "audio"), text.replaceAll("\\+A", "+B"))) {
            assertThatThrownBy(() -> VerifierKey.parse(wrong)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void aMasterKeyIsReadAsItIsWrittenAndIsInNoMessage() {
        MasterKey master = MasterKey.draw();
        assertThat(MasterKey.parse(master.secretText() + "\n").of(ORIGIN).verifier())
                .isEqualTo(master.of(ORIGIN).verifier());
        assertThat(master.of("other").verifier().toString().split("\\+", -1)[2])
                .isNotEqualTo(master.of(ORIGIN).verifier().toString().split("\\+", -1)[2]);
        assertThat(master.toString()).doesNotContain(master.secretText());
        assertThatThrownBy(() -> MasterKey.parse("secret-of-mine"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageNotContaining("secret-of-mine");
    }
}
