package dev.annals.sdk;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture.Project;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The writing clients as packages: what is in them, that the same sources make the same bytes, and that an application in an empty folder
 * writes a record with each. {@link WritersIT} does that with Java's jar and Go's module.
 */
@Slow
@TakesLong
class PackagesIT extends ClientProcess {

    private static final Path CLIENTS = Path.of("clients").toAbsolutePath();
    private static final String EPOCH = "SOURCE_DATE_EPOCH=1767225600";

    @Test
    void pipInstallsTheClientForPythonWithItsTypes() throws Exception {
        SdkProgram.run(folder, "python3", "-m", "venv", "environment");
        String python = folder.resolve("environment/bin/python").toString();
        List<byte[]> wheels = new ArrayList<>();
        for (String name : List.of("first", "another-name")) {
            Path wheel = folder.resolve("wheel-" + name);
            String sources = copy("python", name).toString();
            SdkProgram.fetch(
                    folder,
                    "env",
                    EPOCH,
                    python,
                    "-m",
                    "pip",
                    "wheel",
                    "--quiet",
                    "--no-deps",
                    "--wheel-dir",
                    wheel.toString(),
                    sources);
            wheels.add(Files.readAllBytes(only(wheel, ".whl")));
        }
        assertThat(wheels.get(0)).isEqualTo(wheels.get(1));
        String wheel = only(folder.resolve("wheel-first"), ".whl").toString();
        SdkProgram.fetch(folder, python, "-m", "pip", "install", "--quiet", "mypy>=1.15,<3", wheel);

        Path application = Files.createDirectory(folder.resolve("application"));
        Files.writeString(application.resolve("main.py"), example("python"));
        SdkProgram.run(application, python, "-m", "mypy", "--strict", "main.py");
        SdkProgram.run(application, python, "-m", "mypy", "--package", "annals");
        writesARecord(application, python, "-I", "main.py");
    }

    @Test
    void npmInstallsTheClientForTypeScript() throws Exception {
        List<byte[]> packs = new ArrayList<>();
        Path sources = null;
        for (String name : List.of("first", "another-name")) {
            sources = copy("typescript", name);
            SdkProgram.fetch(sources, "npm", "install", "--no-audit", "--no-fund", "--loglevel=error");
            SdkProgram.run(sources, "npm", "pack", "--silent");
            packs.add(Files.readAllBytes(only(sources, ".tgz")));
        }
        assertThat(packs.get(0)).isEqualTo(packs.get(1));
        Path application = Files.createDirectory(folder.resolve("application"));
        Files.writeString(application.resolve("package.json"), "{\"private\": true, \"type\": \"module\"}");
        Files.writeString(application.resolve("main.ts"), example("ts"));
        String pack = only(sources, ".tgz").toString();
        SdkProgram.run(application, "npm", "install", "--offline", "--no-audit", "--no-fund", pack);
        try (Stream<Path> files = Files.walk(application.resolve("node_modules/annals-writer"))) {
            assertThat(files.filter(Files::isRegularFile)
                            .map(file -> file.getFileName().toString()))
                    .containsExactlyInAnyOrder(
                            "package.json", "annals.js", "annals.d.ts", "package.json", "annals.js", "annals.d.ts");
        }

        String tsc = sources.resolve("node_modules/.bin/tsc").toString();
        String types = sources.resolve("node_modules/@types").toString();
        SdkProgram.run(
                application,
                tsc,
                "--strict",
                "--module",
                "nodenext",
                "--target",
                "es2022",
                "--typeRoots",
                types,
                "--types",
                "node",
                "main.ts");
        writesARecord(application, "node", "main.js");

        // As CommonJS, for compilers that read "exports" and for those that read "types".
        String commonJs = example("ts").replaceAll("await (.*);", "void $1;");
        for (String module : List.of("node16", "commonjs")) {
            Path other = Files.createDirectory(folder.resolve(module));
            Files.writeString(other.resolve("package.json"), "{\"private\": true}");
            Files.writeString(other.resolve("main.ts"), commonJs);
            SdkProgram.run(other, "npm", "install", "--offline", "--no-audit", "--no-fund", pack);
            SdkProgram.run(
                    other, tsc, "--strict", "--module", module, "--target", "es2022", "--typeRoots", types, "main.ts");
            assertThat(Files.readString(other.resolve("main.js"))).contains("require(\"annals-writer\")");
            writesARecord(other, "node", "main.js");
        }
    }

    @Test
    void mavenMakesTheClientsForJavaWithSourcesAndJavadoc() throws Exception {
        List<Map<String, byte[]>> builds = new ArrayList<>();
        for (String name : List.of("first", "another-name")) {
            Path copy = copy("java", name);
            SdkProgram.fetch(copy, SdkProgram.maven(), "--batch-mode", "--quiet", "package");
            Map<String, byte[]> jars = new TreeMap<>();
            try (Stream<Path> files = Files.walk(copy)) {
                for (Path jar :
                        files.filter(file -> file.toString().endsWith(".jar")).toList()) {
                    jars.put(jar.getFileName().toString(), Files.readAllBytes(jar));
                }
            }
            builds.add(jars);
        }
        String jar = "annals-writer-" + first("openapi.yaml", "(?m)^  version: (\\S+)$");
        assertThat(builds.get(0).keySet())
                .hasSize(9)
                .contains(jar + ".jar", jar + "-sources.jar", jar + "-javadoc.jar");
        builds.get(0)
                .forEach((name, bytes) ->
                        assertThat(builds.get(1).get(name)).as(name).isEqualTo(bytes));
    }

    private static String first(String file, String pattern) throws IOException {
        return Pattern.compile(pattern)
                .matcher(Files.readString(Path.of(file)))
                .results()
                .map((MatchResult result) -> result.group(1))
                .findFirst()
                .orElseThrow();
    }

    /** The application of docs/clients.md in this language. */
    private static String example(String language) throws IOException {
        return first("docs/clients.md", "(?s)```" + language + "\n(.*?)```");
    }

    private void writesARecord(Path application, String... command) throws Exception {
        Project project = service.newProject();
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(application.toFile())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("output").toFile());
        builder.environment().put("ANNALS_URL", service.uri().toString());
        builder.environment().put("ANNALS_TOKEN", project.token());
        process = builder.start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue())
                .as(Files.readString(folder.resolve("output")))
                .isZero();
        assertThat(SqlFixture.on(service.database()).checkFeed(project.id())).isEqualTo(1);
    }

    private static Path only(Path folder, String ending) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(ending))
                    .findFirst()
                    .orElseThrow();
        }
    }

    /** A copy of a client's sources below a folder of this name, where installers may leave their files. */
    private Path copy(String language, String name) throws IOException {
        Path from = CLIENTS.resolve(language);
        Path copy = folder.resolve(Path.of(name, "clients", language));
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Path relative = from.relativize(file);
                if (!relative.toString().matches("(.*/)?(target|node_modules|dist|__pycache__)/.*")) {
                    Files.createDirectories(copy.resolve(relative).getParent());
                    Files.copy(file, copy.resolve(relative));
                }
            }
        }
        Files.copy(Path.of("LICENSE"), folder.resolve(name).resolve("LICENSE"), StandardCopyOption.REPLACE_EXISTING);
        return copy;
    }
}
