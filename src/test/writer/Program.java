import dev.annals.writer.AuditLog;
import dev.annals.writer.AuditRecord;
import dev.annals.writer.Receipt;
import dev.annals.writer.SpoolOptions;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;

/** Appends numbers to the spool that is its first argument, from the second on, as many as the third says; prints each that is safe. */
public class Program {
    public static void main(String[] arguments) throws Exception {
        SpoolOptions spool = SpoolOptions.in(Path.of(arguments[0])).segmentBytes(1 << 20).maxBytes(4 << 20);
        try (AuditLog log = AuditLog.to(URI.create(System.getenv("ANNALS_URL")), System.getenv("ANNALS_TOKEN"))
                .pauses(Duration.ofMillis(10), Duration.ofMillis(500))
                .buffer(1_000, 32 << 20)
                .spool(spool)
                .open()) {
            long first = Long.parseLong(arguments[1]);
            for (long number = first; number < first + Long.parseLong(arguments[2]); number++) {
                long mine = number;
                Receipt receipt = log.append(AuditRecord.of("append")
                        .actor("user", "u-1", "Jane \"J\" Doe\n\0\ud800")
                        .id(number % 1_000_000 == 6 || number % 1_000_000 == 7 ? new UUID(0x7000, Long.MIN_VALUE + number / 1_000_000) : null)
                        .ipAddress("192.0.2.1")
                        .metadata(Map.of("number", number))
                        .build());
                receipt.acknowledgement().thenRun(() -> System.out.println(mine));
            }
            while (!log.flush(Duration.ofSeconds(60))) {
                System.err.println(log.metrics());
            }
        }
        System.out.println("done");
    }
}
