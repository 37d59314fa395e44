package dev.annals.sdk;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Slow;
import dev.annals.TakesLong;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The writing clients as packages. {@link WritersIT} covers Java's jar. */
@Slow
@TakesLong
class PackagesIT {

    private static final Path CLIENTS = Path.of("clients").toAbsolutePath();

    @TempDir
    Path folder;

    @Test
    void pipInstallsTheClientForPython() throws Exception {
        SdkProgram.run(folder, "python3", "-m", "venv", "environment");
        Path python = folder.resolve("environment/bin/python");
        SdkProgram.fetch(folder, python.toString(), "-m", "pip", "install", "--quiet", copy("python"));

        SdkProgram.run(folder, python.toString(), "-I", "-c", "from annals import AuditLog, AuditHandler");
    }

    @Test
    void npmInstallsTheClientForTypeScript() throws Exception {
        Path sources = Path.of(copy("typescript"));
        SdkProgram.fetch(sources, "npm", "install", "--no-audit", "--no-fund", "--loglevel=error");
        SdkProgram.run(sources, "npm", "pack", "--silent", "--pack-destination", folder.toString());
        Path application = Files.createDirectory(folder.resolve("application"));
        Files.writeString(application.resolve("package.json"), "{\"private\": true, \"type\": \"module\"}");
        Files.writeString(
                application.resolve("main.js"),
                "import { AuditLog } from 'annals-writer';\nif (typeof AuditLog.open !== 'function') process.exit(1);\n");
        try (Stream<Path> files = Files.list(folder)) {
            Path pack = files.filter(file -> file.toString().endsWith(".tgz"))
                    .findFirst()
                    .orElseThrow();
            SdkProgram.run(application, "npm", "install", "--offline", "--no-audit", "--no-fund", pack.toString());
        }

        SdkProgram.run(application, "node", "main.js");
        assertThat(application.resolve("node_modules/annals-writer/dist/annals.d.ts"))
                .exists();
    }

    @Test
    void allHaveTheContractsVersion() throws Exception {
        String version = first("openapi.yaml", "(?m)^  version: (\\S+)$");
        assertThat(List.of(
                        first("pom.xml", "<artifactId>annals</artifactId>\\s*<version>([^<-]+)"),
                        first("clients/java/pom.xml", "<version>([^<-]+)"),
                        first("clients/java/writer/pom.xml", "<version>([^<-]+)"),
                        first("clients/java/follower/pom.xml", "<version>([^<-]+)"),
                        first("clients/java/proof/pom.xml", "<version>([^<-]+)"),
                        first("clients/generated/pom.xml", "<version>([^<-]+)"),
                        first("clients/python/pyproject.toml", "(?m)^version = \"([^\"]+)"),
                        first("clients/typescript/package.json", "\"version\": \"([^\"]+)")))
                .containsOnly(version);
    }

    private static String first(String file, String pattern) throws IOException {
        return Pattern.compile(pattern)
                .matcher(Files.readString(Path.of(file)))
                .results()
                .map((MatchResult result) -> result.group(1))
                .findFirst()
                .orElseThrow();
    }

    /** A copy of a client's files, where installers may leave theirs. */
    private String copy(String language) throws IOException {
        Path copy = Files.createDirectory(folder.resolve(language));
        try (Stream<Path> files = Files.list(CLIENTS.resolve(language))) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Files.copy(file, copy.resolve(file.getFileName()));
            }
        }
        return copy.toString();
    }
}
