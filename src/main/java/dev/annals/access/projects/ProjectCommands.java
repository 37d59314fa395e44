package dev.annals.access.projects;

import dev.annals.access.caller.Scope;
import dev.annals.kernel.guid.CanonicalGuid;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.RequestBodies;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.enterprise.context.ApplicationScoped;
import java.util.UUID;
import java.util.function.BiFunction;
import java.util.function.Function;

/** Commands: requests with a project in their path and a JSON body. */
@ApplicationScoped
public class ProjectCommands {

    private final Projects projects;
    private final RequestBodies bodies;

    public ProjectCommands(Projects projects, RequestBodies bodies) {
        this.projects = projects;
        this.bodies = bodies;
    }

    /**
     * Reads the body before it looks the project up.
     *
     * @param project id or name
     * @param read throws a {@link ProblemException} for a wrong body
     */
    public <C, T> Uni<T> run(
            String project, HttpServerRequest http, Function<byte[], C> read, BiFunction<Project, C, Uni<T>> command) {
        return bodies.readCommand(http, Scope.ADMIN, body -> {
            C asked = read.apply(body);
            return projects.find(project).chain(found -> command.apply(found, asked));
        });
    }

    /**
     * Parses the id of a project's thing in a path.
     *
     * @param what a noun for the caller
     * @throws ProblemException {@code not-found} if the text is no id
     */
    public static UUID id(String text, String what) {
        UUID id = CanonicalGuid.parse(text);
        if (id == null) {
            throw Projects.unknown(what);
        }
        return id;
    }
}
