package dev.annals.access.projects;

import dev.annals.access.caller.Scope;
import dev.annals.kernel.guid.CanonicalGuid;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.http.RequestBodies;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.enterprise.context.ApplicationScoped;
import java.util.UUID;
import java.util.function.BiFunction;
import java.util.function.Function;

/** What all requests have in common that name a project in their path, and say in their body what to do. */
@ApplicationScoped
public class ProjectCommands {

    private final Projects projects;
    private final RequestBodies bodies;

    public ProjectCommands(Projects projects, RequestBodies bodies) {
        this.projects = projects;
        this.bodies = bodies;
    }

    /**
     * Reads the body, then looks the project up, then runs the command.
     *
     * @param project its id or its name
     * @param read reads the body; throws a {@link ProblemException} where it is wrong
     */
    public <C, T> Uni<T> run(
            String project, HttpServerRequest http, Function<byte[], C> read, BiFunction<Project, C, Uni<T>> command) {
        return bodies.readCommand(http, Scope.ADMIN, body -> {
            C asked = read.apply(body);
            return projects.find(project).chain(found -> command.apply(found, asked));
        });
    }

    /**
     * The id of something that a project has, as a path names it.
     *
     * @param what it is, for people
     * @throws ProblemException {@code not-found} if it is none
     */
    public static UUID id(String text, String what) {
        UUID id = CanonicalGuid.parse(text);
        if (id == null) {
            throw new ProblemException(ProblemType.NOT_FOUND, "The project has no " + what + " with this id.");
        }
        return id;
    }
}
