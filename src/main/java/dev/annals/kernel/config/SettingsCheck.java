package dev.annals.kernel.config;

import io.smallrye.config.ConfigMapping;
import io.smallrye.config.ConfigValidationException;
import io.smallrye.config.SmallRyeConfigBuilder;
import io.smallrye.config.common.utils.StringUtil;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.eclipse.microprofile.config.Config;
import org.eclipse.microprofile.config.spi.ConfigSource;

/** Checks the settings before Quarkus is started, or anything else that costs time or leaves traces. */
public final class SettingsCheck {

    private static final String PREFIX = "ANNALS_";
    /** Variables of the client. */
    private static final List<String> NO_SETTINGS = List.of("ANNALS_URL", "ANNALS_TOKEN", "ANNALS_PROJECT");

    /** Of each database that a setting names. */
    private static final Pattern OF_DATABASES =
            Pattern.compile("ANNALS_DATABASES_[A-Z0-9_]+_(URL|PASSWORD_FILE|PINNED|TRUSTED)");

    private static final int MOST_NAMED = 20;

    /** Above the framework's converters, which read every unknown text as false. */
    private static final int STRICT = 1_000;

    /** The framework's message about a text that a converter refuses. */
    private static final Pattern UNREAD = Pattern.compile(
            "(?s)The config property (\\S+) with the config value \"(.*)\" threw an Exception whilst being converted (?:SRCFG\\d+: )?(.*)");

    private final Collection<Class<?>> mappings;

    public SettingsCheck(Collection<Class<?>> mappings) {
        this.mappings = List.copyOf(mappings);
    }

    /**
     * Reads all settings.
     *
     * @throws IllegalArgumentException with a line for each setting that cannot be read or is out of its limits
     */
    public void requireValid(Config config) {
        SmallRyeConfigBuilder builder = new SmallRyeConfigBuilder()
                .withSources(StreamSupport.stream(config.getConfigSources().spliterator(), false)
                        .toArray(ConfigSource[]::new))
                .addDefaultInterceptors()
                .addDiscoveredConverters()
                .withConverter(Boolean.class, STRICT, SettingsCheck::bool)
                .withValidator(new ConfigLimits())
                // An unknown setting does not stop the start.
                .withMappingIgnore("annals.**");
        mappings.forEach(builder::withMapping);
        try {
            builder.build();
        } catch (ConfigValidationException e) {
            String problems = String.join(
                    "\n  ",
                    IntStream.range(0, e.getProblemCount())
                            .mapToObj(i -> plain(e.getProblem(i).getMessage()))
                            .toList());
            throw new IllegalArgumentException(
                    "The settings are wrong; docs/settings.md describes them:\n  " + problems, e);
        }
    }

    /** The message without names of the framework's exceptions. */
    private static String plain(String problem) {
        Matcher unread = UNREAD.matcher(problem);
        return unread.find()
                ? unread.group(1) + " (" + variable(unread.group(1)) + " in the environment) is \"" + unread.group(2)
                        + "\": " + unread.group(3)
                : problem;
    }

    private static boolean bool(String text) {
        return switch (text.strip().toLowerCase(Locale.ROOT)) {
            case "true" -> true;
            case "false" -> false;
            default -> throw new IllegalArgumentException("it is neither true nor false");
        };
    }

    /** A sentence for each variable of the environment that looks like a setting and is none. */
    public List<String> unknown(Collection<String> environment) {
        SortedSet<String> known = known();
        List<String> unknown = environment.stream()
                .filter(name -> name.startsWith(PREFIX)
                        && !known.contains(name)
                        && !OF_DATABASES.matcher(name).matches())
                .sorted()
                .toList();
        List<String> sentences = new ArrayList<>(unknown.stream()
                .limit(MOST_NAMED)
                .map(name ->
                        "The variable " + name + " is no setting of this release and does nothing; the closest one is "
                                + closest(name, known) + ".")
                .toList());
        if (unknown.size() > MOST_NAMED) {
            sentences.add((unknown.size() - MOST_NAMED) + " more variables that begin with " + PREFIX + " do nothing.");
        }
        return sentences;
    }

    private SortedSet<String> known() {
        SortedSet<String> names = new TreeSet<>(NO_SETTINGS);
        for (Class<?> mapping : mappings) {
            addNames(mapping, mapping.getAnnotation(ConfigMapping.class).prefix(), names);
        }
        return names;
    }

    private static void addNames(Class<?> mapping, String prefix, SortedSet<String> names) {
        for (Method method : mapping.getMethods()) {
            String name = prefix + "." + StringUtil.skewer(method.getName());
            if (method.getReturnType().getEnclosingClass() == mapping) {
                addNames(method.getReturnType(), name, names);
            } else {
                names.add(variable(name));
            }
        }
    }

    /** The variable of the environment that holds a setting. */
    static String variable(String setting) {
        return StringUtil.replaceNonAlphanumericByUnderscores(setting).toUpperCase(Locale.ROOT);
    }

    private static String closest(String name, SortedSet<String> known) {
        return known.stream()
                .min(Comparator.comparingInt(candidate -> distance(name, candidate)))
                .orElseThrow();
    }

    /** The Levenshtein distance. */
    static int distance(String a, String b) {
        int[] row = IntStream.rangeClosed(0, b.length()).toArray();
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[b.length()];
    }
}
