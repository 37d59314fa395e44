package dev.annals.tools.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.derived.log.HostileWitness;
import dev.annals.derived.proof.MasterKey;
import dev.annals.derived.proof.SigningKey;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.Note;
import dev.annals.proof.ProvedRecord;
import dev.annals.proof.Seed;
import dev.annals.proof.TlogProof;
import dev.annals.proof.WitnessPolicy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The witnesses that a reader requires, in an offline check of a proof. */
@BesideTheService
class WitnessedProofTest {

    private static final String RECORD = "{\"id\":\"" + new UUID(7, 1) + "\",\"sequence_id\":1,\"action\":\"a\","
            + "\"timestamp\":\"2026-01-01T00:00:00Z\",\"recorded_at\":\"2026-01-01T00:00:01Z\",\"metadata\":{},"
            + "\"seed\":\"" + Seed.of(new byte[Seed.BYTES]).ofRecord(1) + "\"}";

    private final SigningKey key = MasterKey.draw().of("audit.example.org/v1/projects/" + UUID.randomUUID() + "/log/1");
    private final Note signed = SigningKey.sign(
            new Checkpoint(
                    key.verifier().name(), 1, ProvedRecord.parse(RECORD).entry().leaf()),
            List.of(key));

    @TempDir
    Path folder;

    private HostileWitness one;
    private HostileWitness other;

    @BeforeEach
    void make() throws Exception {
        one = new HostileWitness();
        other = new HostileWitness();
    }

    @AfterEach
    void stop() {
        one.close();
        other.close();
    }

    private int check(Note note, String... options) throws Exception {
        Path file = folder.resolve("proof");
        Files.writeString(file, new TlogProof(RECORD, 0, List.of(), note.toString()).toString());
        CheckCommand command = new CheckCommand();
        List<String> arguments = new ArrayList<>(List.of(options));
        arguments.addAll(List.of("--vkey=" + key.verifier(), file.toString()));
        new CommandLine(command).parseArgs(arguments.toArray(String[]::new));
        return command.run();
    }

    private Note cosigned(String... lines) {
        return signed.and(new Note(signed.text(), List.of(lines)));
    }

    @Test
    void asManyWitnessesHaveToHaveCosignedAsTheReaderRequires() throws Exception {
        String line = one.line(signed.text(), Instant.now());
        String both = other.line(signed.text(), Instant.now());
        String w1 = "--witness=" + one.vkey();
        String w2 = "--witness=" + other.vkey();
        assertThat(check(signed)).isZero();
        assertThat(check(signed, w1)).isEqualTo(1);
        assertThat(check(signed, w1, "--witnesses-needed=0")).isZero();
        assertThat(check(cosigned(line), w1)).isZero();
        assertThat(check(cosigned(line), w2)).isEqualTo(1);
        assertThat(check(cosigned(line), w1, w2)).isEqualTo(1);
        assertThat(check(cosigned(line), w1, w2, "--witnesses-needed=1")).isZero();
        assertThat(check(cosigned(line, both), w1, w2)).isZero();
    }

    @Test
    void aCosignatureOfAnotherNoteDoesNotCount() throws Exception {
        String w1 = "--witness=" + one.vkey();
        assertThat(check(cosigned(one.line(signed.text() + "more\n", Instant.now())), w1))
                .isEqualTo(1);
        assertThat(check(cosigned(one.line(signed.text() + "more\n", Instant.now())), w1, "--witnesses-needed=0"))
                .isEqualTo(1);
    }

    @Test
    void aPolicyThatCannotBeMetIsRefused() {
        for (String[] wrong : new String[][] {
            {"--witness=" + key.verifier()},
            {"--witness=" + one.vkey(), "--witnesses-needed=2"},
            {"--witness=" + one.vkey(), "--witness=" + one.vkey()},
            {"--witnesses-needed=1"},
            {"--witness=" + one.vkey(), "--witnesses-needed=-1"}
        }) {
            assertThatThrownBy(() -> check(signed, wrong))
                    .isInstanceOfSatisfying(
                            ClientFailure.class,
                            failure -> assertThat(failure.exitCode()).isEqualTo(ClientFailure.USAGE));
        }
    }

    @Test
    void theCountNamesWhoHasCosigned() {
        WitnessPolicy policy = WitnessPolicy.of(List.of(one.vkey(), other.vkey()), 0);
        assertThat(policy.require(signed.toString())).isEqualTo(", cosigned by 0 of 2 witnesses");
        assertThat(WitnessPolicy.NONE.require(signed.toString())).isEmpty();
    }
}
