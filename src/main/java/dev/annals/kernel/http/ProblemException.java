package dev.annals.kernel.http;

import java.io.Serial;

/** Ends a request with a {@link Problem}. It is no fault to investigate, so it has no stack trace. */
public final class ProblemException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1;

    private final transient Problem problem;

    public ProblemException(Problem problem) {
        super(problem.title() + ": " + problem.detail(), null, false, false);
        this.problem = problem;
    }

    public ProblemException(ProblemType type, String detail) {
        this(Problem.of(type, detail));
    }

    public Problem problem() {
        return problem;
    }
}
