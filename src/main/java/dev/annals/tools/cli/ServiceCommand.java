package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.util.List;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** A command that sends requests to the service. */
@RegisterForReflection
abstract class ServiceCommand extends ClientCommand {

    @Mixin
    Connection service = new Connection();

    /** A text of an answer, or a default for null. */
    static String text(JsonNode value, String otherwise) {
        return value.isNull() ? otherwise : value.asText();
    }

    /** Redacts fields of a record, and returns the answer. */
    JsonNode sendRedaction(String record, List<String> fields, String why) throws IOException, InterruptedException {
        ObjectNode body = Json.mapper().createObjectNode();
        fields.forEach(body.putArray("fields")::add);
        body.put("reason", why);
        return service.exchange("POST", Connection.FEED + "/" + record + "/redactions", body);
    }

    /** A command of the administration on one project. */
    @RegisterForReflection
    abstract static class OfProject extends AnswerCommand {

        @Parameters(index = "0", paramLabel = "PROJECT", description = "The id or the name of the project.")
        String project = "";

        /** The project's path in the API. */
        final String path() {
            return "/v1/projects/" + Connection.segment(project);
        }
    }
}
