import dev.annals.writer.AuditLog;
import dev.annals.writer.SpoolOptions;
import java.io.File;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;

/** Sends what is in each spool of the folder that is its first argument; prints what each close returned. */
public class Spools {
    public static void main(String[] arguments) {
        for (int number = 0; new File(arguments[0], Integer.toString(number)).exists(); number++) {
            AuditLog log = AuditLog.to(URI.create(System.getenv("ANNALS_URL") + "/" + number), System.getenv("ANNALS_TOKEN"))
                    .spool(SpoolOptions.in(Path.of(arguments[0], Integer.toString(number))))
                    .open();
            System.out.println(log.close(Duration.ofMinutes(1)));
        }
    }
}
