package dev.annals.bench;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * The settings of a run, from system properties.
 *
 * @param parts names of parts, in the order to run them ({@code bench})
 * @param quick fewer cases and shorter measurements ({@code bench.quick})
 * @param seconds the length of one measurement ({@code bench.seconds})
 * @param rounds the measurements of each variant, in turns with the others ({@code bench.rounds})
 * @param command the command that repeats the run
 */
public record Settings(List<String> parts, boolean quick, double seconds, int rounds, String command) {

    private static final String DEFAULT_PARTS =
            "ordering,transaction,pages,search,service,fairness,live,export,proof,streams,micro,storage,startup";

    static Settings fromSystemProperties() {
        String parts = property("bench", DEFAULT_PARTS);
        String quickText = System.getProperty("bench.quick", "false");
        boolean quick = quickText.isEmpty() || Boolean.parseBoolean(quickText);
        String seconds = property("bench.seconds", quick ? "0.7" : "2");
        String rounds = property("bench.rounds", quick ? "2" : "3");
        StringBuilder command = new StringBuilder("mvn -Pbench verify");
        if (!parts.equals(DEFAULT_PARTS)) {
            command.append(" -Dbench=").append(parts);
        }
        if (quick) {
            command.append(" -Dbench.quick");
        }
        command.append(" -Dbench.seconds=").append(seconds);
        command.append(" -Dbench.rounds=").append(rounds);
        for (String own : List.of("bench.records", "bench.keep", "scale.records", "scale.projects")) {
            if (!property(own, "").isEmpty()) {
                command.append(" -D").append(own).append('=').append(property(own, ""));
            }
        }
        return new Settings(
                Arrays.asList(parts.split(",")),
                quick,
                Double.parseDouble(seconds),
                Integer.parseInt(rounds),
                command.toString());
    }

    private static String property(String name, String otherwise) {
        String value = System.getProperty(name, "");
        return value.isEmpty() ? otherwise : value;
    }

    /** The length of one measurement. */
    public Duration measurement() {
        return Duration.ofMillis(Math.round(seconds * 1000));
    }

    /** The time of use before a new process is measured, so that its code is compiled. */
    public Duration warmUp() {
        return Duration.ofSeconds(quick ? 3 : 20);
    }

    /** One or the other, by {@link #quick()}. */
    public <T> T choose(T whenQuick, T otherwise) {
        return quick ? whenQuick : otherwise;
    }
}
