package dev.annals;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noFields;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaAnnotation;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaField;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Checks on the JVM what a native executable needs of the classes. */
@BesideTheService
class NativeClassesTest {

    @Test
    void noRandomNumbersAreDrawnFromWhatTheBuildMade() {
        noFields()
                .that()
                .areStatic()
                .should()
                .haveRawType(JavaClass.Predicates.assignableTo(Random.class))
                .check(OwnClasses.all());
    }

    @Test
    void allThatPicocliFillsIsRegistered() {
        Set<String> filled = new TreeSet<>();
        Set<String> registered = new TreeSet<>();
        for (JavaClass type : OwnClasses.all()) {
            if (type.isAnnotatedWith(Command.class)
                    || type.getFields().stream().anyMatch(NativeClassesTest::isFilled)) {
                filled.add(type.getName());
            }
            if (type.isAnnotatedWith(RegisterForReflection.class)) {
                registered(type).forEach(registered::add);
            }
        }
        assertThat(filled).hasSizeGreaterThan(20);
        assertThat(registered).containsAll(filled);
    }

    private static boolean isFilled(JavaField field) {
        return Stream.of(Option.class, Parameters.class, Mixin.class, ArgGroup.class)
                .anyMatch(field::isAnnotatedWith);
    }

    /** The class itself, where it names no others. */
    private static Stream<String> registered(JavaClass type) {
        JavaAnnotation<JavaClass> annotation = type.getAnnotationOfType(RegisterForReflection.class.getName());
        JavaClass[] targets = (JavaClass[]) annotation.get("targets").orElse(new JavaClass[0]);
        Object names = annotation.get("classNames").orElse(new String[0]);
        return targets.length == 0 && ((Object[]) names).length == 0
                ? Stream.of(type.getName())
                : Stream.of(targets).map(JavaClass::getName);
    }
}
