import ch.qos.logback.classic.LoggerContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.Marker;
import org.slf4j.MarkerFactory;

/** Logs as many lines with the marker as its first argument says, each with a note of as many bytes as the second says, and as many without it. */
public class Lines {
    private static final Logger LOG = LoggerFactory.getLogger("shop");

    public static void main(String[] arguments) {
        Marker audit = MarkerFactory.getMarker("AUDIT");
        String note = "n".repeat(Integer.parseInt(arguments[1]));
        for (int number = 0; number < Integer.parseInt(arguments[0]); number++) {
            LOG.info("Unmarked {}", number);
            LOG.atInfo()
                    .addMarker(audit)
                    .addKeyValue("action", "volume_create")
                    .addKeyValue("actor.type", "user")
                    .addKeyValue("actor.id", "u-" + number)
                    .addKeyValue("actor.name", "Jane")
                    .addKeyValue("subject.type", "volume")
                    .addKeyValue("subject.id", "v-" + number)
                    .addKeyValue("outcome", "success")
                    .addKeyValue("ip_address", "192.0.2.1")
                    .addKeyValue("number", number)
                    .addKeyValue("note", note)
                    .log("Volume {} was \"created\"", number);
        }
        ((LoggerContext) LoggerFactory.getILoggerFactory()).stop();
        System.out.println("stopped");
        // Nothing but stop() may have sent what has arrived.
        Runtime.getRuntime().halt(0);
    }
}
