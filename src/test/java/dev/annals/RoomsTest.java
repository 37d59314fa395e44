package dev.annals;

import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.library.Architectures.LayeredArchitecture;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.ServicePool;
import io.vertx.mutiny.sqlclient.Pool;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import jakarta.ws.rs.Path;
import java.lang.annotation.Annotation;
import java.util.ArrayList;
import java.util.List;
import org.eclipse.microprofile.health.Readiness;
import org.junit.jupiter.api.Test;

/** Six groups of packages, of which each uses only those before it. */
@BesideTheService
class RoomsTest {

    private static final String ROOT = "dev.annals";

    /** They are also part of the clients, and use nothing of the service or of each other. */
    private static final List<String> SHARED = List.of("follower", "proof");

    private static final List<String> GROUPS = List.of("kernel", "access", "core", "derived", "edges", "tools");

    private static final List<Class<? extends Annotation>> BEANS =
            List.of(ApplicationScoped.class, Singleton.class, Path.class, Readiness.class);

    private static final DescribedPredicate<JavaClass> POOLS =
            JavaClass.Predicates.belongToAnyOf(Pool.class, ServicePool.class);

    /** Tokens, identities and names, and what belongs to no project. */
    private static final List<String> OF_HOME = List.of(
            "AccessTokens",
            "Admissions",
            "Catalogues",
            "DatabaseCheck",
            "DatabaseStates",
            "Identities",
            "IdentityGrants",
            "Looks",
            "Members",
            "MoveCarrier",
            "Moves",
            "OperationEvents",
            "Places",
            "ProjectionResource",
            "Projects",
            "RecorderResource",
            "StartEvents",
            // those of all projects
            "StreamSchedulers",
            "TokenWatch");

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

    /** A class asks {@code Places} or {@code Databases} for a database, and that for its pools. */
    @Test
    void noClassIsGivenThePoolsOfOneDatabase() {
        assertThat(OwnClasses.all().stream()
                        .filter(type -> BEANS.stream().anyMatch(type::isAnnotatedWith))
                        .filter(type -> !type.getPackageName().equals(ROOT + ".kernel.database"))
                        .filter(type -> type.getConstructors().stream()
                                .filter(constructor ->
                                        type.getConstructors().size() == 1 || constructor.isAnnotatedWith(Inject.class))
                                .flatMap(constructor -> constructor.getRawParameterTypes().stream())
                                .anyMatch(POOLS))
                        .map(JavaClass::getSimpleName))
                .isEmpty();
    }

    @Test
    void onlyWhatIsInHomeAsksForHome() {
        assertThat(OwnClasses.all().stream()
                        .flatMap(type -> type.getMethodCallsFromSelf().stream())
                        .filter(call -> call.getTargetOwner().isEquivalentTo(Databases.class)
                                && call.getTarget().getName().equals("home"))
                        .map(call -> call.getOriginOwner().getSimpleName())
                        .filter(name -> !name.isEmpty())
                        .distinct()
                        .sorted())
                .containsExactlyElementsOf(OF_HOME);
    }

    private static LayeredArchitecture layer(LayeredArchitecture rule, String group) {
        return rule.layer(group).definedBy(ROOT + "." + group + "..");
    }
}
