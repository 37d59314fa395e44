import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.writer.AuditLog;
import dev.annals.writer.AuditRecord;
import dev.annals.writer.SpoolOptions;
import java.io.File;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/** Runs the cases of conformance.json in spools of the folder that is its first argument; prints what each close returned. */
public class Conformance {
    public static void main(String[] arguments) throws Exception {
        JsonNode cases = new ObjectMapper().readTree(new File("clients/conformance.json")).get("cases");
        for (int number = 0; number < cases.size(); number++) {
            JsonNode one = cases.get(number);
            SpoolOptions spool = SpoolOptions.in(Path.of(arguments[0], Integer.toString(number)));
            AuditLog away = to("away").pauses(Duration.ofMillis(100), Duration.ofHours(1)).spool(spool).open();
            one.get("records").forEach(record -> away.append(record(record)));
            away.close(Duration.ZERO);
            JsonNode options = one.path("options");
            AuditLog log = to(Integer.toString(number))
                    .pauses(Duration.ofMillis(1), Duration.ofMillis(options.path("longest_pause").asLong(20)))
                    .batch(options.path("batch").asInt(1_000), 900_000)
                    .spool(spool)
                    .open();
            System.out.println(log.close(Duration.ofMillis(one.path("close").asLong(60_000))));
        }
    }

    private static AuditLog.Builder to(String path) {
        return AuditLog.to(URI.create(System.getenv("ANNALS_URL") + "/" + path), System.getenv("ANNALS_TOKEN"));
    }

    private static AuditRecord record(JsonNode given) {
        Map<String, JsonNode> metadata = new HashMap<>();
        given.path("metadata").properties().forEach(field -> metadata.put(field.getKey(), field.getValue()));
        JsonNode actor = given.path("actor");
        JsonNode subject = given.path("subject");
        return AuditRecord.of(text(given, "action"))
                .id(given.has("id") ? UUID.fromString(text(given, "id")) : null)
                .timestamp(given.has("timestamp") ? OffsetDateTime.parse(text(given, "timestamp")).toInstant() : null)
                .actor(text(actor, "type"), text(actor, "id"), text(actor, "name"))
                .subject(text(subject, "type"), text(subject, "id"), text(subject, "name"))
                .outcome(text(given, "outcome"))
                .ipAddress(text(given, "ip_address"))
                .message(text(given, "message"))
                .number(text(given.path("number"), "sequence"))
                .metadata(metadata)
                .build();
    }

    private static String text(JsonNode given, String name) {
        return given.path(name).textValue();
    }
}
