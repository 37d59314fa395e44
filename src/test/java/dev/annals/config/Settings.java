package dev.annals.config;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.smallrye.config.ConfigMapping;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** The interfaces that declare the service's settings, wherever they are. */
public final class Settings {

    private Settings() {}

    /** All of them. */
    public static List<Class<?>> all() {
        return new ClassFileImporter()
                .withImportOption(new ImportOption.DoNotIncludeTests()).importPackages("dev.annals").stream()
                        .filter(type -> type.isAnnotatedWith(ConfigMapping.class))
                        .<Class<?>>map(type -> type.reflect())
                        .toList();
    }

    /** One of them, with the groups of settings that it declares. */
    public static List<Class<?>> groups(Class<?> mapping) {
        return Stream.concat(Stream.of(mapping), Arrays.stream(mapping.getDeclaredClasses()))
                .toList();
    }
}
