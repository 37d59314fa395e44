import dev.annals.writer.AuditLog;
import dev.annals.writer.AuditRecord;
import dev.annals.writer.BufferFullException;
import dev.annals.writer.Receipt;
import dev.annals.writer.SpoolOptions;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;

/** Does what each line of its input says, and prints what comes of it. Its arguments are a spool or "-", the size of the buffer, and "handler" or "file". */
public class Steps {
    public static void main(String[] arguments) throws Exception {
        AuditLog.Builder options = AuditLog.to(URI.create(System.getenv("ANNALS_URL")), System.getenv("ANNALS_TOKEN"))
                .pauses(Duration.ofMillis(1), Duration.ofMillis(20))
                .buffer(Integer.parseInt(arguments[1]), 1 << 20)
                .appendTimeout(Duration.ZERO);
        if (!arguments[0].equals("-")) {
            options.spool(SpoolOptions.in(Path.of(arguments[0])));
        }
        if (arguments[2].equals("handler")) {
            options.onRefusal(refusal -> System.out.println("handed back " + refusal.json()));
        }
        AuditLog log = options.open();
        BufferedReader steps = new BufferedReader(new InputStreamReader(System.in));
        for (String line = steps.readLine(); line != null; line = steps.readLine()) {
            String[] step = line.split(" ");
            if (step[0].equals("append")) {
                append(log, step[1]);
            } else if (step[0].equals("flush")) {
                System.out.println("flushed " + log.flush(Duration.ofMillis(Long.parseLong(step[1]))));
            } else if (step[0].equals("end")) {
                // As one that is killed once it is back.
                Runtime.getRuntime().halt(log.close(Duration.ofMillis(Long.parseLong(step[1]))) ? 0 : 3);
            } else {
                System.out.println("closed " + log.close(Duration.ofMillis(Long.parseLong(step[1]))));
            }
        }
    }

    private static void append(AuditLog log, String action) {
        try {
            Receipt receipt = log.append(AuditRecord.of(action).build());
            System.out.println("taken " + action + " " + receipt.id());
            receipt.acknowledgement()
                    .whenComplete((id, failure) ->
                            System.out.println((failure == null ? "acknowledged " : "refused ") + action));
        } catch (BufferFullException e) {
            System.out.println("full " + action);
        }
    }
}
