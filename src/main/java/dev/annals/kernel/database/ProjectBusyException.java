package dev.annals.kernel.database;

import java.io.Serial;

/** The project uses its share of the connections already. The message advises the client. */
public final class ProjectBusyException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1;

    ProjectBusyException() {
        super(
                "Too many requests read from this project, or each takes too long. Send the request again later.",
                null,
                false,
                false);
    }
}
