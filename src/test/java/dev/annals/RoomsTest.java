package dev.annals;

import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.library.Architectures.LayeredArchitecture;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Six groups of packages, of which each uses only those before it. */
@BesideTheService
class RoomsTest {

    private static final String ROOT = "dev.annals";

    private static final List<Map.Entry<String, List<String>>> GROUPS = List.of(
            Map.entry("kernel", List.of("config", "connection", "database", "guid", "http", "memory", "quarantine")),
            Map.entry("access", List.of("openid", "project", "requests")),
            Map.entry("core", List.of("append", "feed", "live", "query", "record", "sequence")),
            Map.entry(
                    "derived",
                    List.of(
                            "alert",
                            "facets",
                            "log",
                            "projection",
                            "proof",
                            "redaction",
                            "retention",
                            "search",
                            "statistics")),
            Map.entry("edges", List.of("contract", "delivery", "export", "intake", "viewer")),
            Map.entry("tools", List.of("benchmark", "cli", "command", "embedded", "follower", "ops")));

    @Test
    void noPackageUsesAnotherInACircle() {
        slices().matching(ROOT + ".(*)..").should().beFreeOfCycles().check(OwnClasses.all());
    }

    @Test
    void eachGroupUsesOnlyThoseBeforeIt() {
        LayeredArchitecture groups = layeredArchitecture()
                .consideringOnlyDependenciesInAnyPackage(ROOT + "..")
                .layer("start")
                .definedBy(ROOT);
        for (Map.Entry<String, List<String>> group : GROUPS) {
            groups = groups.layer(group.getKey())
                    .definedBy(group.getValue().stream()
                            .map(room -> ROOT + "." + room + "..")
                            .toArray(String[]::new));
        }
        groups = groups.whereLayer("start").mayNotBeAccessedByAnyLayer();
        for (int group = 0; group < GROUPS.size(); group++) {
            String[] before =
                    GROUPS.subList(0, group).stream().map(Map.Entry::getKey).toArray(String[]::new);
            groups = before.length == 0
                    ? groups.whereLayer(GROUPS.get(group).getKey()).mayNotAccessAnyLayer()
                    : groups.whereLayer(GROUPS.get(group).getKey()).mayOnlyAccessLayers(before);
        }
        groups.ensureAllClassesAreContainedInArchitecture().check(OwnClasses.all());
    }
}
