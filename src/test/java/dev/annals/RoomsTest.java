package dev.annals;

import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.library.Architectures.LayeredArchitecture;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Six groups of packages, of which each uses only those before it. */
@BesideTheService
class RoomsTest {

    private static final String ROOT = "dev.annals";

    /** The first one is published with the clients, too. */
    private static final List<String> GROUPS =
            List.of("follower", "kernel", "access", "core", "derived", "edges", "tools");

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
        for (String group : GROUPS) {
            rule = rule.layer(group).definedBy(ROOT + "." + group + "..");
        }
        for (int group = 0; group < GROUPS.size(); group++) {
            String[] before = GROUPS.subList(0, group).toArray(String[]::new);
            LayeredArchitecture.LayerDependencySpecification layer = rule.whereLayer(GROUPS.get(group));
            rule = group == 0 ? layer.mayNotAccessAnyLayer() : layer.mayOnlyAccessLayers(before);
        }
        rule.ensureAllClassesAreContainedInArchitecture().check(OwnClasses.all());
    }
}
