package dev.annals;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;

/** The classes of the service, and what each uses. To read them takes seconds, so that it is done once for all tests of a JVM. */
public final class OwnClasses {

    private static final JavaClasses ALL = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("dev.annals");

    private OwnClasses() {}

    /** All of them. */
    public static JavaClasses all() {
        return ALL;
    }
}
