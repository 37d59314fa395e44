package dev.annals.derived.move;

import java.io.Serial;
import java.sql.SQLException;

/** The copy differs from its source, or the mover is stopping. */
public final class MoveException extends SQLException {

    @Serial
    private static final long serialVersionUID = 1;

    MoveException(String message) {
        super(message);
    }
}
