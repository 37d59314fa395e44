package dev.annals;

import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static java.util.stream.Collectors.toCollection;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Which package may use which. A package that needs another one more is allowed it here, where it is seen. */
@BesideTheService
class RoomsTest {

    private static final String ROOT = "dev.annals";

    /** Each package with what it uses; every one of those stands above it. */
    private static final Map<String, Set<String>> MAY_USE = new TreeMap<>(Map.ofEntries(
            Map.entry("command", Set.of()),
            Map.entry("config", Set.of()),
            Map.entry("guid", Set.of()),
            Map.entry("contract", Set.of("http", "project")),
            Map.entry("follower", Set.of()),
            Map.entry("proof", Set.of()),
            Map.entry("quarantine", Set.of()),
            Map.entry("memory", Set.of("config")),
            Map.entry("database", Set.of("config", "quarantine")),
            Map.entry("embedded", Set.of("database")),
            Map.entry("http", Set.of("config", "database", "memory")),
            Map.entry("connection", Set.of("config", "http", "quarantine")),
            Map.entry("record", Set.of("guid", "http")),
            Map.entry("openid", Set.of("config", "http")),
            Map.entry("project", Set.of("config", "connection", "database", "guid", "http", "openid", "quarantine")),
            Map.entry("projection", Set.of("config", "database", "http", "project")),
            Map.entry("sequence", Set.of("config", "database", "guid", "http", "project")),
            Map.entry("benchmark", Set.of("command", "config", "database", "embedded", "sequence")),
            Map.entry("statistics", Set.of("config", "database", "feed", "http", "memory", "project", "projection")),
            Map.entry("query", Set.of("http", "record")),
            Map.entry("search", Set.of("config", "database", "projection", "query", "record")),
            Map.entry(
                    "feed",
                    Set.of(
                            "config",
                            "connection",
                            "database",
                            "guid",
                            "http",
                            "memory",
                            "project",
                            "quarantine",
                            "query",
                            "record",
                            "search")),
            Map.entry("log", Set.of("config", "database", "feed", "http", "project", "projection", "proof", "record")),
            Map.entry("alert", Set.of("config", "database", "guid", "http", "project", "query", "search")),
            Map.entry(
                    "live",
                    Set.of(
                            "config",
                            "database",
                            "feed",
                            "http",
                            "log",
                            "memory",
                            "project",
                            "quarantine",
                            "record",
                            "search")),
            Map.entry(
                    "append",
                    Set.of("config", "database", "feed", "guid", "http", "live", "project", "record", "sequence")),
            Map.entry("facets", Set.of("config", "database", "feed", "http", "memory", "project", "search")),
            Map.entry("export", Set.of("config", "database", "feed", "http", "memory", "project", "record", "search")),
            Map.entry("intake", Set.of("append", "guid", "http", "project", "record")),
            Map.entry(
                    "delivery",
                    Set.of(
                            "config",
                            "database",
                            "export",
                            "feed",
                            "guid",
                            "http",
                            "log",
                            "memory",
                            "project",
                            "proof",
                            "quarantine",
                            "record",
                            "search")),
            Map.entry(
                    "redaction",
                    Set.of("database", "feed", "guid", "http", "project", "projection", "proof", "record")),
            Map.entry("retention", Set.of("config", "database", "log", "projection")),
            Map.entry(
                    "ops",
                    Set.of(
                            "command",
                            "config",
                            "database",
                            "embedded",
                            "guid",
                            "http",
                            "log",
                            "project",
                            "proof",
                            "record")),
            Map.entry("requests", Set.of("config", "connection", "http", "project")),
            Map.entry("viewer", Set.of("config", "feed", "http", "project")),
            Map.entry("cli", Set.of("command", "follower", "guid", "proof")),
            // All settings, to be checked before anything else.
            Map.entry(
                    "",
                    Set.of(
                            "alert",
                            "append",
                            "benchmark",
                            "cli",
                            "command",
                            "config",
                            "connection",
                            "database",
                            "delivery",
                            "embedded",
                            "export",
                            "facets",
                            "feed",
                            "guid",
                            "http",
                            "live",
                            "log",
                            "memory",
                            "openid",
                            "ops",
                            "project",
                            "projection",
                            "requests",
                            "retention",
                            "search",
                            "sequence",
                            "statistics",
                            "viewer"))));

    @Test
    void noPackageUsesAnotherInACircle() {
        slices().matching(ROOT + ".(*)..").should().beFreeOfCycles().check(OwnClasses.all());
    }

    @Test
    void everyPackageUsesWhatItMayAndNoMore() {
        Map<String, Set<String>> uses = new TreeMap<>();
        for (JavaClass type : OwnClasses.all()) {
            String user = room(type);
            Set<String> used = uses.computeIfAbsent(user, room -> new TreeSet<>());
            type.getDirectDependenciesFromSelf().stream()
                    .map(dependency -> dependency.getTargetClass().getBaseComponentType())
                    .filter(target -> target.getPackageName().startsWith(ROOT))
                    .map(RoomsTest::room)
                    .filter(room -> !room.equals(user))
                    .forEach(used::add);
        }
        Map<String, Set<String>> allowed = new TreeMap<>();
        MAY_USE.forEach((room, rooms) -> allowed.put(room, rooms.stream().collect(toCollection(TreeSet::new))));
        assertThat(uses).isEqualTo(allowed);
    }

    private static String room(JavaClass type) {
        String name = type.getPackageName();
        return name.equals(ROOT) ? "" : name.substring(ROOT.length() + 1);
    }
}
