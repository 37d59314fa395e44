package dev.annals.access.sessions;

import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Scope;
import dev.annals.access.limits.Limits;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import java.time.Instant;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A person or a program with a token of the OpenID provider.
 *
 * @param id null if no grant is for it
 * @param projects those that grants open to it
 */
record Identity(@Nullable UUID id, String issuer, String subject, Instant expiresAt, List<OpenProject> projects) {

    /**
     * A project that is open to an identity.
     *
     * @param limits of this identity
     * @param grants those that open the project
     */
    record OpenProject(
            UUID projectId,
            String name,
            Set<Scope> scopes,
            boolean closed,
            Limits projectLimits,
            Limits limits,
            Set<UUID> grants,
            long catalogueVersion) {

        /** All scopes, and the more generous limits. */
        OpenProject and(OpenProject other) {
            Set<Scope> both = EnumSet.copyOf(scopes);
            both.addAll(other.scopes);
            Set<UUID> all = new HashSet<>(grants);
            all.addAll(other.grants);
            return new OpenProject(
                    projectId,
                    name,
                    both,
                    closed,
                    projectLimits,
                    limits.orMore(other.limits),
                    Set.copyOf(all),
                    catalogueVersion);
        }

        /** Null if it has no scopes that only read. */
        @Nullable
        OpenProject reading() {
            Set<Scope> left = EnumSet.noneOf(Scope.class);
            if (scopes.contains(Scope.READ)) {
                left.add(Scope.READ);
            }
            if (scopes.contains(Scope.AUDIT) || scopes.contains(Scope.ADMIN)) {
                left.add(Scope.AUDIT);
            }
            return left.isEmpty()
                    ? null
                    : new OpenProject(projectId, name, left, closed, projectLimits, limits, grants, catalogueVersion);
        }
    }

    Identity reading() {
        return new Identity(
                id,
                issuer,
                subject,
                expiresAt,
                projects.stream()
                        .<OpenProject>mapMulti((project, into) -> {
                            OpenProject reading = project.reading();
                            if (reading != null) {
                                into.accept(reading);
                            }
                        })
                        .toList());
    }

    /** Null if no project is open. */
    @Nullable
    String anyProject() {
        return projects.isEmpty() ? null : projects.get(0).projectId.toString();
    }

    /**
     * The caller in the project that the request names.
     *
     * @param named the id or name in the request; null without one
     * @param administers true if the operation needs a scope of the project {@code annals}
     * @throws ProblemException {@code project-needed}, or {@code forbidden} without a grant for the project
     */
    Caller in(@Nullable String named, boolean administers) {
        UUID self = id;
        if (self == null || projects.isEmpty()) {
            throw new ProblemException(
                    ProblemType.FORBIDDEN,
                    "The provider knows you, but no grant opens a project to you. Ask the administrator for a grant.");
        }
        OpenProject chosen;
        if (named == null && administers) {
            chosen = projects.stream()
                    .filter(project -> project.scopes.stream().anyMatch(Scope::isOfAdministration))
                    .findFirst()
                    .orElse(projects.get(0));
        } else if (named == null) {
            if (projects.size() > 1) {
                throw new ProblemException(Problem.of(
                        ProblemType.PROJECT_NEEDED,
                        "Several projects are open to you. Name one, by its id or its name, in the header"
                                + " \"Annals-Project\"; GET /v1/whoami/projects lists them."));
            }
            chosen = projects.get(0);
        } else {
            chosen = projects.stream()
                    .filter(project -> project.name.equals(named)
                            || project.projectId.toString().equalsIgnoreCase(named))
                    .findFirst()
                    .orElseThrow(() -> new ProblemException(
                            ProblemType.FORBIDDEN,
                            "No grant opens the project in the header \"Annals-Project\" to you."));
        }
        return new Caller(
                chosen.projectId,
                chosen.scopes,
                self,
                chosen.closed,
                List.of(),
                chosen.projectLimits,
                chosen.limits,
                null,
                new Caller.Entry(issuer, subject, chosen.grants, expiresAt),
                chosen.catalogueVersion);
    }
}
