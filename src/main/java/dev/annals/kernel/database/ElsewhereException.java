package dev.annals.kernel.database;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.vertx.pgclient.PgException;
import java.io.IOException;
import java.io.Serial;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The database that was asked does not have the project, or does not accept its records at the moment. */
public final class ElsewhereException extends RuntimeException {

    /** The SQLSTATE of {@code annals.refuse_elsewhere()}. */
    public static final String SQLSTATE = "AN307";

    @Serial
    private static final long serialVersionUID = 1;

    private static final Set<String> MOVING = Set.of("arriving", "sealed", "suspended", "unadmitted");
    private static final JsonFactory JSON = new JsonFactory();

    private final String projectId;
    private final @Nullable String database;
    private final String placement;

    /**
     * As the database that was asked has noted it.
     *
     * @param placement as in {@code annals.project}, or as {@code annals.refuse_elsewhere()} names it; null if the database never had the
     *     project
     * @param database null if the database that was asked does not know
     */
    public ElsewhereException(String projectId, @Nullable String placement, @Nullable String database) {
        super(
                "project " + projectId + " is " + (placement == null ? "unknown" : placement) + " and in the database "
                        + database,
                null,
                false,
                false);
        this.projectId = projectId;
        this.database = database;
        this.placement = placement == null ? "unknown" : placement;
    }

    public ElsewhereException(UUID projectId, @Nullable String placement, @Nullable String database) {
        this(projectId.toString(), placement, database);
    }

    /** Whether the failure is an error with {@link #SQLSTATE}, or one of this class. */
    public static boolean isOf(@Nullable Throwable failure) {
        return failure instanceof ElsewhereException
                || (failure instanceof PgException error && SQLSTATE.equals(error.getSqlState()));
    }

    /** Empty unless {@link #isOf}. */
    public static Optional<ElsewhereException> of(@Nullable Throwable failure) {
        if (failure instanceof ElsewhereException known) {
            return Optional.of(known);
        }
        if (!isOf(failure) || !(failure instanceof PgException error)) {
            return Optional.empty();
        }
        Map<String, String> detail = read(error.getDetail());
        return Optional.of(new ElsewhereException(
                detail.getOrDefault("project_id", "?"), detail.get("placement"), detail.get("database")));
    }

    private static Map<String, String> read(@Nullable String detail) {
        Map<String, String> members = new HashMap<>();
        try (JsonParser json = JSON.createParser(detail == null ? "" : detail)) {
            while (json.nextToken() != null) {
                if (json.currentToken() == JsonToken.VALUE_STRING) {
                    members.put(json.currentName(), json.getText());
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return members;
    }

    public String projectId() {
        return projectId;
    }

    /** The name of the database that has the project, or will have it; null if the database that was asked does not know. */
    public @Nullable String database() {
        return database;
    }

    /** For a project that one database has left and the other does not accept yet. */
    public ElsewhereException whileMoving() {
        return isMoving() ? this : new ElsewhereException(projectId, "sealed", database);
    }

    /** Whether the project is to be open again, here or there. */
    public boolean isMoving() {
        return MOVING.contains(placement);
    }

    /** For people: why the project accepts nothing now, if {@link #isMoving}. */
    public String cause() {
        return switch (placement) {
            case "suspended" ->
                "The databases of the service contradict each other about the project " + projectId
                        + ". Its operator runs annals reconcile.";
            case "unadmitted" ->
                "The database of the project " + projectId + " was restored or promoted, and accepts records once it is"
                        + " compared with the others: send the request again. If that lasts, the log of the service names"
                        + " the cause.";
            default -> "The project " + projectId + " is moving to another database: send the request again.";
        };
    }
}
