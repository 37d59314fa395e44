package dev.annals;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.access.tokens.OperationEvents;
import dev.annals.derived.log.LogKeys;
import dev.annals.kernel.config.ChangedSettings;
import dev.annals.kernel.database.Databases;
import io.quarkus.test.junit.QuarkusTest;
import io.smallrye.config.PropertiesConfigSource;
import io.smallrye.config.SmallRyeConfigBuilder;
import jakarta.inject.Inject;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.eclipse.microprofile.config.Config;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A start says which settings are others than at the last one, once, and shows no secret. */
@QuarkusTest
class StartEventsTest {

    private static final String EVENTS = """
            select concat(metadata -> 'before', ' ', metadata -> 'after') from annals.feed
            where project_id = annals.administration() and action = 'annals.settings.change' and sequence_id > %d
            order by sequence_id
            """;

    private final AuditLogFixture log = new AuditLogFixture();

    @Inject
    StartEvents events;

    @Inject
    Databases databases;

    @Inject
    OperationEvents operations;

    @Inject
    LogKeys keys;

    @Inject
    Config config;

    private long before;

    @BeforeEach
    void startWithoutAny() throws Exception {
        events.awaitRecorded();
        start(Map.of());
        before = log.number("select max(sequence_id) from annals.feed where project_id = annals.administration()");
    }

    @AfterEach
    void startAsTheOthers() {
        start(Map.of());
    }

    private void start(Map<String, String> settings) {
        events.recordSettings(chosen(settings)).await().indefinitely();
    }

    private static SortedMap<String, ChangedSettings.Value> chosen(Map<String, String> settings) {
        return ChangedSettings.of(
                Settings.ALL,
                new SmallRyeConfigBuilder()
                        .withSources(new PropertiesConfigSource(settings, "of a start", 100))
                        .build());
    }

    private List<String> since() throws Exception {
        return log.texts(EVENTS.formatted(before));
    }

    @Test
    void eachStartLeavesOneEventWithWhatIsDifferentOrNone() throws Exception {
        Map<String, String> settings = new HashMap<>(Map.of(
                "annals.feed.page-bytes", "1M",
                "annals.public-url", "https://user:pass@audit.example.org",
                "annals.admin-token", "a-very-secret-token"));
        start(settings);
        start(settings);
        settings.put("annals.admin-token", "another-secret-token");
        settings.remove("annals.feed.page-bytes");
        start(settings);
        settings.remove("annals.admin-token");
        start(settings);
        assertThat(since())
                .containsExactly(
                        "{\"ANNALS_PUBLIC_URL\": null, \"ANNALS_ADMIN_TOKEN\": null, \"ANNALS_FEED_PAGE_BYTES\": null}"
                                + " {\"ANNALS_PUBLIC_URL\": \"https://…@audit.example.org\", \"ANNALS_ADMIN_TOKEN\": \"secret\","
                                + " \"ANNALS_FEED_PAGE_BYTES\": \"1M\"}",
                        "{\"ANNALS_ADMIN_TOKEN\": \"secret\", \"ANNALS_FEED_PAGE_BYTES\": \"1M\"}"
                                + " {\"ANNALS_ADMIN_TOKEN\": \"changed\", \"ANNALS_FEED_PAGE_BYTES\": null}",
                        "{\"ANNALS_ADMIN_TOKEN\": \"secret\"} {\"ANNALS_ADMIN_TOKEN\": null}");
        assertThat(log.text("select string_agg(state::text, '') from annals.noted_state"))
                .doesNotContain("secret-token", "pass");
    }

    /** A function that is missing, as while a database is restored, counts as a database that is away. */
    @Test
    @Timeout(60)
    void aStartWhileTheDatabaseIsAwayIsRecordedOnceItIsBack() throws Exception {
        CountDownLatch waits = new CountDownLatch(1);
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord line) {
                if (line.getMessage().contains("wait for the database")) {
                    waits.countDown();
                }
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        Logger logger = Logger.getLogger(StartEvents.class.getName());
        logger.addHandler(handler);
        StartEvents late = new StartEvents(databases, operations, keys, config);
        log.run("alter function annals.note_state(text, jsonb) rename to note_state_away");
        try {
            late.listening(null);
            waits.await();
            assertThat(since()).isEmpty();
        } finally {
            log.run("alter function annals.note_state_away(text, jsonb) rename to note_state");
            logger.removeHandler(handler);
        }
        late.awaitRecorded();
        assertThat(since()).hasSize(1);
    }

    @Test
    void instancesThatDifferLeaveOneEventEachStart() throws Exception {
        for (int i = 0; i < 6; i++) {
            start(Map.of("annals.data-dir", "/data/" + i % 2));
        }
        assertThat(since()).hasSize(6);
    }

    @Test
    void aSettingAtItsDefaultIsNotNamed() throws Exception {
        start(Map.of("annals.data-dir", "./data"));
        assertThat(since()).isEmpty();
    }

    @Test
    void theLongestSettingsAreCutAndADifferenceBehindIsSeen() throws Exception {
        start(Map.of("annals.public-url", "https://" + "x".repeat(10_000) + "a"));
        start(Map.of("annals.public-url", "https://" + "x".repeat(10_000) + "b"));
        assertThat(since())
                .hasSize(2)
                .allSatisfy(event -> assertThat(event.length()).isLessThan(3_000));
    }

    /** By their names: passwords, tokens and keys are secrets, unless they are in a file, or are numbers. */
    @Test
    void everySettingThatIsASecretIsMarkedAsOne() {
        Map<String, String> all = new TreeMap<>();
        for (String name : List.of("annals.database-url", "annals.admin-token", "annals.log.key")) {
            all.put(name, "postgresql://user:secret@host/db");
        }
        assertThat(chosen(all).values()).hasSize(3).allSatisfy(setting -> {
            assertThat(setting.secret()).isTrue();
            assertThat(setting.text()).matches("[0-9a-f]{4}");
        });
    }

    @Test
    void theKeysOfLogsThatTheServiceStartedWithAreRecorded() throws Exception {
        assertThat(log.number("""
                select count(*) from annals.feed where project_id = annals.administration() and action = 'annals.log_keys.change'
                  and actor_type = 'service' and metadata #>> '{after,vkeys,0}' like '%/v1/projects/' || project_id || '/log/1+%'
                """)).isPositive();
        assertThat(
                        log.text(
                                "select string_agg(metadata::text, '') from annals.feed where action = 'annals.log_keys.change'"))
                .doesNotContain("annals-log-key");
    }
}
