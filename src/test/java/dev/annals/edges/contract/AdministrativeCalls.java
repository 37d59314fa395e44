package dev.annals.edges.contract;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.restassured.response.Response;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The calls of the tests of this process that changed what is administered, each with the event that it has to leave.
 *
 * <p>Kept in a file, as {@link CalledOperations} are.
 */
final class AdministrativeCalls {

    private static final Path FILE = Path.of(
            "target",
            "administrative-calls",
            Long.toString(ProcessHandle.current().pid()));
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Pattern LAST_ID = Pattern.compile(".*/([0-9A-Fa-f-]{36})(/lift)?");

    private AdministrativeCalls() {}

    /**
     * An event.
     *
     * @param action its action
     * @param id of what it is about; of a rotation, that of the new token
     */
    record Event(String action, String id) {}

    /** Notes a call, if it succeeded. */
    static void add(String operationId, String path, Response answer) {
        if (answer.statusCode() / 100 == 2) {
            event(operationId, path, answer).ifPresent(AdministrativeCalls::write);
        }
    }

    private static Optional<Event> event(String operationId, String path, Response answer) {
        return switch (operationId) {
            case "createProject" -> made("annals.project.create", answer);
            case "closeProject" -> made("annals.project.close", answer);
            case "createProjectToken" -> made("annals.token.issue", answer);
            case "rotateProjectToken" -> made("annals.token.rotate", answer);
            case "revokeProjectToken" -> named("annals.token.revoke", path);
            case "createViewerLink" -> made("annals.token.link", answer);
            case "makeGrant" -> made("annals.grant.make", answer);
            case "revokeGrant" -> named("annals.grant.revoke", path);
            case "noteArchive" -> made("annals.archive.note", answer);
            case "setHold" -> made("annals.hold.set", answer);
            // The first answer of each is that it was made; a stream or an alert that is set again has another event.
            case "setStream" -> answer.statusCode() == 201 ? made("annals.stream.set", answer) : Optional.empty();
            case "setAlert" -> answer.statusCode() == 201 ? made("annals.alert.set", answer) : Optional.empty();
            case "setView" -> answer.statusCode() == 201 ? made("annals.view.set", answer) : Optional.empty();
            case "liftHold" -> named("annals.hold.lift", path);
            default -> Optional.empty();
        };
    }

    private static Optional<Event> made(String action, Response answer) {
        return Optional.of(new Event(action, id(answer)));
    }

    // A path of REST Assured's would be compiled as a script for each call, and these are thousands.
    private static String id(Response answer) {
        try {
            return JSON.readTree(answer.asByteArray()).path("id").asText();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Optional<Event> named(String action, String path) {
        Matcher id = LAST_ID.matcher(path);
        return id.matches()
                ? Optional.of(new Event(action, id.group(1).toLowerCase(java.util.Locale.ROOT)))
                : Optional.empty();
    }

    private static synchronized void write(Event event) {
        try {
            Files.createDirectories(FILE.getParent());
            Files.writeString(
                    FILE,
                    event.action() + " " + event.id() + "\n",
                    StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The events that the calls of this process have to have left, each once: what was repeated has left no second one. */
    static List<Event> events() throws IOException {
        if (!Files.exists(FILE)) {
            return List.of();
        }
        return Files.readAllLines(FILE).stream()
                .distinct()
                .map(line -> line.split(" ", 2))
                .map(parts -> new Event(parts[0], parts[1]))
                .toList();
    }
}
