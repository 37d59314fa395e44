package dev.annals.edges.delivery;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.kernel.http.ProblemException;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** The secret of a sink is readable with the service's key and for its stream alone. */
@BesideTheService
class SinkSecretsTest {

    private static final UUID PROJECT = UUID.randomUUID();
    private static final UUID STREAM = UUID.randomUUID();
    private static final String SECRET = "whsec_a secret";

    private final SinkSecrets secrets = new SinkSecrets("0".repeat(64));
    private final byte[] stored = secrets.encrypt(PROJECT, STREAM, SECRET);

    private static void assertUnreadable(SinkSecrets secrets, UUID project, UUID stream, byte[] stored) {
        assertThatThrownBy(() -> secrets.decrypt(project, stream, stored))
                .isInstanceOf(SinkSecrets.UnreadableSecretException.class)
                .hasMessageNotContaining(SECRET);
    }

    @Test
    void itIsReadAgainAndNeverStoredTheSameWayTwice() {
        assertThat(secrets.decrypt(PROJECT, STREAM, stored)).isEqualTo(SECRET);
        assertThat(new SinkSecrets("0".repeat(64)).decrypt(PROJECT, STREAM, stored))
                .isEqualTo(SECRET);
        assertThat(secrets.encrypt(PROJECT, STREAM, SECRET)).isNotEqualTo(stored);
    }

    @Test
    void itIsUnreadableForAnotherStreamProjectOrKeyAndIfAnythingWasChanged() {
        assertUnreadable(secrets, PROJECT, UUID.randomUUID(), stored);
        assertUnreadable(secrets, UUID.randomUUID(), STREAM, stored);
        assertUnreadable(new SinkSecrets("1" + "0".repeat(63)), PROJECT, STREAM, stored);
        assertUnreadable(new SinkSecrets(null), PROJECT, STREAM, stored);
        for (int at = 0; at < stored.length; at++) {
            byte[] changed = stored.clone();
            changed[at] ^= 1;
            assertUnreadable(secrets, PROJECT, STREAM, changed);
        }
        assertUnreadable(secrets, PROJECT, STREAM, new byte[3]);
    }

    @Test
    void withoutAKeyAProblemSaysWhatToSet() {
        assertThatThrownBy(new SinkSecrets(null)::requireKey)
                .isInstanceOfSatisfying(ProblemException.class, refused -> {
                    assertThat(refused.problem().status()).isEqualTo(409);
                    assertThat(refused.problem().detail()).contains("ANNALS_STREAMS_KEY_FILE", "openssl rand -hex 32");
                });
    }
}
