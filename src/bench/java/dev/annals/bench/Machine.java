package dev.annals.bench;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.List;

/** The machine and the versions of a run. */
final class Machine {

    private static final Path CPU_INFO = Path.of("/proc/cpuinfo");

    private static final List<String> DATABASE_SETTINGS = List.of(
            "fsync",
            "synchronous_commit",
            "full_page_writes",
            "wal_compression",
            "shared_buffers",
            "max_wal_size",
            "max_connections",
            "jit");

    private Machine() {}

    /** One paragraph of Markdown. */
    static String describe(BenchServer server, Settings settings) throws IOException, SQLException {
        StringBuilder database = new StringBuilder("PostgreSQL ").append(server.setting("server_version"));
        database.append(server.isEmbedded() ? " (embedded)" : " (given)");
        for (String name : DATABASE_SETTINGS) {
            database.append(", ").append(name).append(' ').append(server.setting(name));
        }
        return "Measured on " + LocalDate.now(ZoneOffset.UTC) + " with `" + settings.command() + "`, on "
                + Runtime.getRuntime().availableProcessors() + " cores (" + processor() + "), " + memory()
                + " of memory, " + System.getProperty("os.name") + "; " + System.getProperty("java.vm.name") + " "
                + System.getProperty("java.runtime.version") + "; " + database + ". " + load();
    }

    private static String processor() throws IOException {
        if (!Files.isReadable(CPU_INFO)) {
            return System.getProperty("os.arch");
        }
        try (var lines = Files.lines(CPU_INFO)) {
            return lines.filter(line -> line.startsWith("model name"))
                    .findFirst()
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .orElse(System.getProperty("os.arch"));
        }
    }

    private static String memory() {
        var system = ManagementFactory.getPlatformMXBean(com.sun.management.OperatingSystemMXBean.class);
        return Math.round(system.getTotalMemorySize() / 1073741824.0) + " GiB";
    }

    private static String load() {
        double load = ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
        return String.format("Load average at the end: %.1f.", load);
    }
}
