package dev.annals;

import static java.util.stream.Collectors.toMap;
import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;

import com.oracle.svm.core.annotate.Alias;
import com.oracle.svm.core.annotate.Delete;
import com.oracle.svm.core.annotate.Substitute;
import com.oracle.svm.core.annotate.TargetClass;
import com.oracle.svm.core.annotate.TargetElement;
import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaMethodCall;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.lang.annotation.Annotation;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The methods that a native executable replaces in Netty, by Quarkus and by {@code NettySubstitutions}, are those that the Netty in
 * use has and calls. The linker would find out, in a build that takes minutes and GraalVM; another version of Netty or Quarkus
 * fails here at once.
 */
@BesideTheService
class NettySubstitutionsTest {

    private static final JavaClasses ALL = new ClassFileImporter()
            .importPackages("io.netty", "io.quarkus.netty.runtime.graal", "dev.annals.kernel.quarantine");

    /** By the name of the class that stands for it. */
    private static final Map<String, String> ORIGINALS = ALL.stream()
            .filter(type -> type.isAnnotatedWith(TargetClass.class))
            .collect(toMap(JavaClass::getName, type -> original(type)));

    /** Owner, name and erased parameters of a method or constructor of Netty. */
    private record Method(String owner, String name, List<String> parameters) {

        static Method of(JavaCodeUnit unit) {
            String renamed = unit.tryGetAnnotationOfType(TargetElement.class)
                    .map(TargetElement::name)
                    .orElse("");
            return of(unit.getOwner(), renamed.isEmpty() ? unit.getName() : renamed, unit.getRawParameterTypes());
        }

        static Method of(JavaMethodCall call) {
            AccessTarget.MethodCallTarget target = call.getTarget();
            return of(target.getOwner(), target.getName(), target.getRawParameterTypes());
        }

        private static Method of(JavaClass owner, String name, List<JavaClass> parameters) {
            return new Method(
                    original(owner),
                    name,
                    parameters.stream().map(Method::original).toList());
        }

        private static String original(JavaClass type) {
            return ORIGINALS.getOrDefault(type.getName(), type.getName());
        }

        boolean overloads(Method other) {
            return owner.equals(other.owner) && name.equals(other.name);
        }
    }

    @Test
    void everyMethodThatIsReplacedOrReachedExists() {
        Set<Method> existing = ALL.stream()
                .filter(type -> !ORIGINALS.containsKey(type.getName()))
                .flatMap(type -> type.getCodeUnits().stream())
                .map(Method::of)
                .collect(toSet());
        Set<Method> named = annotated(Set.of(Substitute.class, Alias.class, Delete.class));
        assertThat(named).hasSizeGreaterThan(20);
        assertThat(existing).containsAll(named);
    }

    /** A new overload is how a method that was replaced got around its replacement before. */
    @Test
    void noCallGoesAroundAReplacedMethodToAnOverload() {
        Set<Method> replaced = annotated(Set.of(Substitute.class, Delete.class));
        Predicate<JavaCodeUnit> keepsItsCode = unit -> !replaced.contains(Method.of(unit));
        assertThat(ALL.stream()
                        .flatMap(type -> type.getMethods().stream())
                        .filter(keepsItsCode)
                        .filter(method -> !method.getModifiers().contains(JavaModifier.BRIDGE))
                        .filter(method -> replaced.stream().anyMatch(Method.of(method)::overloads))
                        .filter(method -> method.getMethodCallsFromSelf().stream()
                                .noneMatch(call -> replaced.contains(Method.of(call))
                                        && Method.of(call).overloads(Method.of(method))))
                        .flatMap(method -> method.getCallsOfSelf().stream())
                        .filter(call -> keepsItsCode.test(call.getOrigin()))
                        .map(JavaMethodCall::getDescription))
                .isEmpty();
    }

    @Test
    void contextsOfTlsAreMadeByReplacedMethods() {
        assertCallsAreReplaced(
                "io.netty.handler.ssl.SslContextBuilder",
                call -> call.getOrigin().getName().equals("build")
                        && call.getTargetOwner().getName().equals("io.netty.handler.ssl.SslContext"));
    }

    @Test
    void privateKeysAreNotReadByBouncyCastle() {
        assertCallsAreReplaced(
                "io.netty.handler.ssl.SslContext",
                call -> call.getTargetOwner().getName().equals("io.netty.handler.ssl.util.BouncyCastleUtil"));
    }

    private static void assertCallsAreReplaced(String caller, Predicate<JavaMethodCall> calls) {
        Set<Method> called = ALL.get(caller).getMethodCallsFromSelf().stream()
                .filter(calls)
                .map(Method::of)
                .collect(toSet());
        assertThat(called).isNotEmpty();
        assertThat(annotated(Set.of(Substitute.class))).containsAll(called);
    }

    private static Set<Method> annotated(Set<Class<? extends Annotation>> annotations) {
        return ALL.stream()
                .filter(type -> ORIGINALS.containsKey(type.getName()))
                .flatMap(type -> type.getCodeUnits().stream())
                .filter(unit -> annotations.stream().anyMatch(unit::isAnnotatedWith))
                .map(Method::of)
                .collect(toSet());
    }

    private static String original(JavaClass type) {
        var target = type.getAnnotationOfType(TargetClass.class.getName());
        String name = (String) target.get("className").orElse("");
        if (name.isEmpty()) {
            name = ((JavaClass) target.get("value").orElseThrow()).getName();
        }
        Object inner = target.get("innerClass").orElse(new String[0]);
        return Stream.of((Object[]) inner).map(Object::toString).reduce(name, (outer, nested) -> outer + "$" + nested);
    }
}
