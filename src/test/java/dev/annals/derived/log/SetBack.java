package dev.annals.derived.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.SqlFixture;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import java.sql.SQLException;
import java.util.UUID;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** A log whose state a test restores to an earlier one, as a restored copy of the database's files would. */
record SetBack(SqlFixture database, UUID project) {

    /** The present state of the log. */
    String state() throws SQLException {
        return database.text("select row_to_json(l) from annals.merkle_log l where project_id = '" + project + "'");
    }

    /** Restores the log, its tree and its witnesses' entries. */
    void to(String state) throws SQLException {
        database.run(
                "set local session_replication_role = replica",
                "delete from annals.merkle_log where project_id = '" + project + "'",
                "delete from annals.merkle_tile where project_id = '" + project + "'",
                "delete from annals.merkle_witness where project_id = '" + project + "'",
                "insert into annals.merkle_log select * from json_populate_record(null::annals.merkle_log, '"
                        + state.replace("'", "''") + "')",
                "update annals.projection_checkpoint set sequence_id = (select size from annals.merkle_log where"
                        + " project_id = '" + project + "') where project_id = '" + project
                        + "' and projection = 'log'");
    }

    /** The log is halted, and the reader and the database have the reason. */
    void assertHalted(TestLogs logs, String reason) throws SQLException {
        assertProblem(ProblemType.LOG_HALTED, () -> logs.newest(project)).hasMessageContaining(reason);
        assertThat(database.text("select halted from annals.merkle_log where project_id = '" + project + "'"))
                .contains(reason);
    }

    static AbstractThrowableAssert<?, ?> assertProblem(ProblemType type, ThrowingCallable call) {
        return assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        ProblemException.class,
                        problem -> assertThat(problem.problem().type()).isEqualTo(type));
    }
}
