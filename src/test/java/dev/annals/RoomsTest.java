package dev.annals;

import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.library.Architectures.LayeredArchitecture;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Six groups of packages, of which each uses only those before it. */
@BesideTheService
class RoomsTest {

    private static final String ROOT = "dev.annals";

    /** They are also part of the clients, and use nothing of the service or of each other. */
    private static final List<String> SHARED = List.of("follower", "proof");

    private static final List<String> GROUPS = List.of("kernel", "access", "core", "derived", "edges", "tools");

    @Test
    void noPackageUsesAnotherInACircle() {
        slices().matching(ROOT + ".(**)").should().beFreeOfCycles().check(OwnClasses.all());
    }

    @Test
    void eachGroupUsesOnlyThoseBeforeIt() {
        LayeredArchitecture rule = layeredArchitecture()
                .consideringOnlyDependenciesInAnyPackage(ROOT + "..")
                .layer("start")
                .definedBy(ROOT)
                .whereLayer("start")
                .mayNotBeAccessedByAnyLayer();
        List<String> before = new ArrayList<>();
        for (String shared : SHARED) {
            rule = layer(rule, shared).whereLayer(shared).mayNotAccessAnyLayer();
            before.add(shared);
        }
        for (String group : GROUPS) {
            rule = layer(rule, group).whereLayer(group).mayOnlyAccessLayers(before.toArray(String[]::new));
            before.add(group);
        }
        rule.ensureAllClassesAreContainedInArchitecture().check(OwnClasses.all());
    }

    private static LayeredArchitecture layer(LayeredArchitecture rule, String group) {
        return rule.layer(group).definedBy(ROOT + "." + group + "..");
    }
}
