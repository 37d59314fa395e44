package dev.annals.tools.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.tools.embedded.TestDatabase;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.sql.Connection;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The verification in the background finds damage, and reads what is due and no more. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class VerificationTest {

    @Inject
    Verification verification;

    @Inject
    MeterRegistry metrics;

    private final AuditLogFixture log = new AuditLogFixture();
    private UUID project;

    /** Other tests have damaged their feeds, or have large ones. */
    @BeforeEach
    void verifyNoOtherFeed() throws Exception {
        project = log.insertProject();
        log.run(
                "insert into annals.verification (project_id) select id from annals.project on conflict do nothing",
                "update annals.verification set due_at = clock_timestamp() + interval '1 day', found = 0, found_before = 0",
                "update annals.verification set due_at = clock_timestamp() where project_id = '" + project + "'");
    }

    @AfterEach
    void forget() throws Exception {
        log.run("update annals.verification set found = 0, found_before = 0");
    }

    private void append(int count) throws Exception {
        log.run("insert into annals.audit_record (project_id, action) select '" + project
                + "', 'action ' || n from generate_series(1, " + count + ") n");
    }

    private void awaitDerived(int head) throws Exception {
        Await.until(
                "all is derived",
                () -> log.number("select count(*) from annals.merkle_log where project_id = '" + project
                                + "' and size >= " + head / 256 * 256)
                        == 1);
    }

    private void makeDue() throws Exception {
        log.run("update annals.verification set due_at = clock_timestamp() where project_id = '" + project + "'");
    }

    private long verifiedBy(Look look) throws Exception {
        double before = metrics.get("annals.verification.records").counter().count();
        look.take();
        return Math.round(metrics.get("annals.verification.records").counter().count() - before);
    }

    private void look() throws Exception {
        assertThat(verification.look(Duration.ofMinutes(1))).as("more is due").isFalse();
    }

    private interface Look {
        void take() throws Exception;
    }

    private double unsound() {
        return metrics.get("annals.verification.unsound.projects").gauge().value();
    }

    private String events() {
        return """
                select count(*) from annals.audit_record
                where project_id = annals.administration() and action = 'annals.verification.fail' and subject_id = '%s'
                """.formatted(project);
    }

    private void damage(int sequenceId) throws Exception {
        log.run(
                "set local session_replication_role = replica",
                "update annals.audit_record set action = 'another' where project_id = '" + project
                        + "' and action = 'action " + sequenceId + "'");
    }

    @Test
    void newRecordsAreVerifiedOnceUntilTheNextRoundBegins() throws Exception {
        append(600);
        awaitDerived(600);
        assertThat(verifiedBy(this::look)).isEqualTo(600);
        append(5);
        assertThat(verifiedBy(this::look)).as("before it is due").isZero();
        makeDue();
        assertThat(verifiedBy(this::look)).isEqualTo(5);
        log.run("update annals.verification set round_at = round_at - interval '8 days' where project_id = '" + project
                + "'");
        makeDue();
        assertThat(verifiedBy(this::look)).as("another round").isEqualTo(605);
        assertThat(unsound()).isZero();
        assertThat(log.number(events())).isZero();
    }

    @Test
    void aChangedRecordIsFoundInTheNextRound() throws Exception {
        append(600);
        awaitDerived(600);
        look();
        damage(77);
        makeDue();
        look();
        assertThat(unsound()).as("was verified before it was changed").isZero();

        log.run("update annals.verification set round_at = round_at - interval '8 days' where project_id = '" + project
                + "'");
        makeDue();
        look();

        assertThat(unsound()).isEqualTo(1);
        assertThat(log.number(events())).isEqualTo(1);
        assertThat(log.text("select metadata::text from annals.audit_record where action = 'annals.verification.fail'"
                        + " and subject_id = '" + project + "'"))
                .contains("the sequence id 77 does not match the log");
    }

    @Test
    void aClaimedRangeBelongsToItsInstanceUntilTheLeaseEnds() throws Exception {
        append(10);
        try (Connection another = log.connect()) {
            AuditLogFixture.execute(
                    another, "select from annals.verification where project_id = '" + project + "' for update");
            assertThat(verifiedBy(this::look)).isZero();
        }
        assertThat(verifiedBy(this::look)).isEqualTo(10);
    }

    @Test
    void theOtherChecksRunEvenIfMoreIsAlwaysDue() throws Exception {
        append(10);
        look();
        log.run("update annals.verification set found = 1 where project_id = '" + project + "'");
        makeDue();
        log.insertProject();

        assertThat(verification.look(Duration.ZERO)).as("more is due").isTrue();

        assertThat(unsound()).isEqualTo(1);
    }

    @Test
    void aSchemaThatIsNotTheShippedOneIsSaidOnce() throws Exception {
        String schemaEvents = events().replace(project.toString(), "annals");
        long before = log.number(schemaEvents);
        log.run("create index planted_idx on annals.audit_record (outcome)");
        try {
            look();
            look();
            assertThat(log.number(schemaEvents)).isEqualTo(before + 1);
            assertThat(metrics.get("annals.verification.schema.differences")
                            .gauge()
                            .value())
                    .isEqualTo(1);
        } finally {
            log.run("drop index annals.planted_idx");
        }
        look();
        assertThat(metrics.get("annals.verification.schema.differences").gauge().value())
                .isZero();
    }
}
