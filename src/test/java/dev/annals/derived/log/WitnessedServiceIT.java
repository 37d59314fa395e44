package dev.annals.derived.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.endsWith;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasSize;
import static org.hamcrest.Matchers.notNullValue;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.OneByOne;
import dev.annals.Slow;
import dev.annals.TakesLong;
import dev.annals.derived.proof.MasterKey;
import dev.annals.proof.Note;
import dev.annals.proof.TlogProof;
import dev.annals.proof.VerifierKey;
import dev.annals.proof.WitnessPolicy;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResourceLifecycleManager;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.QuarkusTestProfile;
import io.quarkus.test.junit.TestProfile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A service whose logs have a witness of transparency-dev/witness. */
@Slow
@TakesLong
@QuarkusTest
@OneByOne
@TestProfile(WitnessedServiceIT.WithWitness.class)
class WitnessedServiceIT {

    private static final String LOGS = AuditLogFixture.LOGS;

    /** Names the witness to the service. */
    public static class WithWitness implements QuarkusTestProfile {

        @Override
        public List<TestResourceEntry> testResources() {
            return List.of(new TestResourceEntry(TestDatabase.class), new TestResourceEntry(Running.class));
        }
    }

    /** Runs the witness. */
    public static final class Running implements QuarkusTestResourceLifecycleManager {

        // A system property names it to the test, because Quarkus loads this class more than once.
        private static final String VKEY = "test-witness.vkey";
        private static final String LOGS_FILE = "test-witness.logs";
        private TestWitness witness;

        @Override
        public Map<String, String> start() {
            try {
                Path directory = Files.createTempDirectory("witness");
                witness = TestWitness.start("witness.example/one", directory);
                System.setProperty(VKEY, witness.vkey());
                System.setProperty(LOGS_FILE, witness.logs().toString());
                return Map.of("annals.log.witnesses", witness.setting(), "annals.log.witness-interval", "200ms");
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public void stop() {
            if (witness != null) {
                witness.close();
            }
        }
    }

    @Test
    void readersGetCosignedCheckpoints() throws Exception {
        AuditLogFixture log = new AuditLogFixture();
        Project project = log.newProject();
        LogReader reader = new LogReader(project);
        reader.get(reader.prefix() + "/checkpoint?witnesses=1")
                .then()
                .statusCode(404)
                .body("type", endsWith("log-behind"));
        reader.get(LOGS + "/log").then().body("witnesses", hasSize(1)).body("witnesses[0].error", notNullValue());

        Project known = log.newProject();
        String origin = "localhost/v1/projects/" + known.id() + "/log/1";
        String vkey =
                MasterKey.parse(AuditLogFixture.LOG_KEY).of(origin).verifier().toString();
        Files.writeString(Path.of(System.getProperty(Running.LOGS_FILE)), vkey + "\n");
        LogReader cosigned = new LogReader(known);
        cosigned.get(LOGS + "/log").then().body("origin", equalTo(origin));
        WitnessPolicy policy = WitnessPolicy.of(List.of(System.getProperty(Running.VKEY)), 1);
        String id = known.request()
                .contentType("application/json")
                .body("{\"action\": \"a\"}")
                .post(LOGS)
                .then()
                .statusCode(201)
                .extract()
                .path("id");
        TlogProof required = TlogProof.parse(
                cosigned.get(LOGS + "/" + id + "/proof?witnesses=1").asString());
        assertThat(policy.require(required.checkpoint())).startsWith(", cosigned by 1 of 1 witness");
        assertThat(required.verify(List.of(VerifierKey.parse(vkey))).record().sequenceId())
                .isEqualTo(1);
        cosigned.get(LOGS + "/" + id + "/proof?witnesses=2")
                .then()
                .statusCode(404)
                .header("Retry-After", notNullValue())
                .body("type", endsWith("log-behind"));
        // No reader asks: the rounds offer the log.
        Await.until("the proof's checkpoint is cosigned", () -> {
            String note = TlogProof.parse(
                            cosigned.get(LOGS + "/" + id + "/proof").asString())
                    .checkpoint();
            return policy.cosigners(Note.parse(note)).size() == 1;
        });
        String checkpoint =
                cosigned.get(cosigned.prefix() + "/checkpoint?witnesses=1").asString();
        assertThat(policy.require(checkpoint)).isEqualTo(", cosigned by 1 of 1 witness (witness.example/one)");
        assertThat(cosigned.next().size()).isEqualTo(1);
        cosigned.get(cosigned.prefix() + "/checkpoint?witnesses=2")
                .then()
                .statusCode(404)
                .body("type", endsWith("log-behind"));
        cosigned.get(LOGS + "/log")
                .then()
                .body("witnesses[0].name", equalTo("witness.example/one"))
                .body("witnesses[0].size", equalTo(1))
                .body("witnesses[0].cosigned_at", notNullValue());
        log.checkFeed(known.id());
    }
}
