package dev.annals.kernel.database;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.eclipse.microprofile.config.Config;

/**
 * A database as the settings name it.
 *
 * @param url empty for one of the service's own
 * @param standbys of which feeds are read
 * @param pinned whether no project moves here or leaves
 * @param trusted whether its streams reach what those of home reach
 */
public record NamedDatabase(
        String name, Optional<DatabaseUrl> url, Optional<DatabaseUrl> standbys, boolean pinned, boolean trusted) {

    /** More than the connections of a machine suffice for. */
    private static final int MOST = 128;
    /** The variables of a database east-read would be among those of a database east. */
    private static final Pattern NAME = Pattern.compile("[a-z]([a-z0-9-]{0,29}[a-z0-9])?(?<!-read)");

    private static final String SETTING = "annals.databases";
    /** Beside the settings, so that no variable of the environment sets it. */
    private static final String OWN = "dev.annals.databases.";

    /**
     * Reads the settings: home first.
     *
     * @throws IllegalArgumentException one sentence that says what is wrong and never shows a password
     */
    public static List<NamedDatabase> all(Config config) {
        List<String> names = names(config);
        List<NamedDatabase> all = new ArrayList<>();
        all.add(new NamedDatabase(
                names.get(0),
                DatabaseUrl.configured(config),
                text(config, "annals.read-database-url")
                        .map(url -> DatabaseUrl.parseStandbys(url, "ANNALS_READ_DATABASE_URL")),
                false,
                true));
        names.stream().skip(1).forEach(name -> all.add(member(config, name)));
        return all;
    }

    /**
     * Requires that each database has a URL.
     *
     * @throws IllegalArgumentException if one has none, and would be one of the service's own beside those of a cluster
     */
    public static void requireUrls(List<NamedDatabase> all) {
        for (NamedDatabase database : all) {
            if (database.url.isEmpty()) {
                throw new IllegalArgumentException("ANNALS_DATABASES names " + database.name + ", and "
                        + variables(database.name) + "URL is not set. Name the database, too, or leave it out.");
            }
        }
    }

    /** In the order of the settings: home first. */
    static List<String> names(Config config) {
        List<String> names = config.getOptionalValues(SETTING, String.class).orElse(List.of(Databases.HOME)).stream()
                .map(String::strip)
                .toList();
        Set<String> seen = new HashSet<>();
        for (String name : names) {
            if (!NAME.matcher(name).matches() || !seen.add(name)) {
                throw new IllegalArgumentException("ANNALS_DATABASES names \"" + name
                        + "\", twice or not as a name is written: up to 31 of a to z, 0 to 9 and -, from a letter to a"
                        + " letter or number, without -read at the end.");
            }
        }
        if (names.size() > MOST) {
            throw new IllegalArgumentException(
                    "ANNALS_DATABASES names " + names.size() + " databases and may name " + MOST + ".");
        }
        return names;
    }

    private static NamedDatabase member(Config config, String name) {
        String prefix = SETTING + "." + name;
        String variables = variables(name);
        Optional<DatabaseUrl> url = named(
                variables,
                () -> DatabaseUrl.read(
                        setting -> text(config, setting).orElse(null), prefix + ".url", prefix + ".password-file"));
        Optional<DatabaseUrl> standbys =
                text(config, prefix + ".read-url").map(text -> DatabaseUrl.parseStandbys(text, variables + "READ_URL"));
        // The owner of one of the service's own is the service.
        boolean isOwn = url.isEmpty();
        return new NamedDatabase(
                name,
                url.or(() -> text(config, OWN + name).map(DatabaseUrl::parse)),
                standbys,
                is(text(config, prefix + ".pinned"), false, variables + "PINNED"),
                is(text(config, prefix + ".trusted"), isOwn, variables + "TRUSTED"));
    }

    private static boolean is(Optional<String> text, boolean otherwise, String variable) {
        return switch (text.map(String::strip).orElse(String.valueOf(otherwise))) {
            case "true" -> true;
            case "false" -> false;
            default -> throw new IllegalArgumentException(variable + " is neither true nor false.");
        };
    }

    private static <T> T named(String variables, Supplier<T> read) {
        try {
            return read.get();
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    String.valueOf(e.getMessage()).replace("ANNALS_DATABASE_", variables), e);
        }
    }

    /** The beginning of the names of a database's variables. */
    public static String variables(String name) {
        return "ANNALS_DATABASES_" + name.toUpperCase(Locale.ROOT).replace('-', '_') + "_";
    }

    private static Optional<String> text(Config config, String setting) {
        return config.getOptionalValue(setting, String.class).filter(text -> !text.isBlank());
    }

    /** For Quarkus, the URL of a member that the service itself runs. */
    public static void useOwn(String name, DatabaseUrl url) {
        System.setProperty(OWN + name, url.withPassword());
    }
}
