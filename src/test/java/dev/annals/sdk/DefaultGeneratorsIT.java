package dev.annals.sdk;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture.Project;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The contract makes a client in each language without any option of its generator, and the client compiles, appends, reads and polls. Users
 * generate clients like this. {@link SdkIT} tries those with the options of clients/generated.
 */
@Slow
@Timeout(600)
class DefaultGeneratorsIT extends ClientProcess {

    private static final Path CONTRACT = Path.of("openapi.yaml").toAbsolutePath();
    private static final Path PROGRAMS = Path.of("src", "test", "sdk", "defaults");
    private static final String OAPI_CODEGEN = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2";

    @Test
    void aClientInJavaWorks() throws Exception {
        Path client = generate("java");
        place("Default.java", client.resolve("src/main/java/Default.java"));
        // Compiles the generated tests, too.
        SdkProgram.run(client, SdkProgram.maven(), "--batch-mode", "--quiet", "-DskipTests", "package");
        String libraries = SdkProgram.libraries(client).stream()
                .map(Path::toString)
                .collect(Collectors.joining(File.pathSeparator));
        tries(client, SdkProgram.javaCommand(), "-cp", "target/classes" + File.pathSeparator + libraries, "Default");
    }

    @Test
    void aClientInTypeScriptWorks() throws Exception {
        needs("npm");
        Path client = generate("typescript-fetch");
        place("default.ts", client.resolve("default.ts"));
        SdkProgram.fetch(client, "npm", "install", "--silent", "typescript@5.9.3", "@types/node@20");
        SdkProgram.run(
                client,
                "node_modules/.bin/tsc",
                "--strict",
                "--target",
                "es2022",
                "--module",
                "commonjs",
                "--skipLibCheck",
                "--outDir",
                "out",
                "default.ts");
        tries(client, "node", "out/default.js");
    }

    @Test
    void aClientInPythonWorks() throws Exception {
        needs("python3");
        Path client = generate("python");
        SdkProgram.run(folder, "python3", "-m", "venv", "environment");
        String python = folder.resolve("environment/bin/python").toString();
        SdkProgram.fetch(folder, python, "-m", "pip", "install", "--quiet", client.toString());
        place("default.py", folder.resolve("default.py"));
        tries(folder, python, "-I", "default.py");
    }

    @Test
    void aClientInGoWorks() throws Exception {
        needs("go");
        Path client = generate("go");
        place("default.go", client.resolve("default/main.go"));
        SdkProgram.run(client, "go", "build", "./...");
        SdkProgram.run(client, "go", "build", "-o", "program", "./default");
        tries(client, client.resolve("program").toString());
    }

    @Test
    void aClientOfOapiCodegenWorks() throws Exception {
        needs("go");
        Path module = Files.createDirectories(folder.resolve("oapi"));
        Files.createDirectories(module.resolve("annals"));
        Files.writeString(module.resolve("go.mod"), "module annals.example\n\ngo 1.24\n");
        place("oapi.go", module.resolve("program/main.go"));
        String contract = CONTRACT.toString();
        SdkProgram.fetch(module, "go", "run", OAPI_CODEGEN, "-package", "annals", "-o", "annals/annals.go", contract);
        SdkProgram.fetch(module, "go", "mod", "tidy");
        SdkProgram.run(module, "go", "build", "./...");
        SdkProgram.run(module, "go", "build", "-o", "run", "./program");
        tries(module, module.resolve("run").toString());
    }

    @Test
    void aClientInRustWorks() throws Exception {
        needs("cargo");
        Path client = generate("rust");
        place("default.rs", client.resolve("examples/default.rs"));
        SdkProgram.fetch(client, "cargo", "add", "--quiet", "--dev", "tokio", "--features", "macros,rt");
        SdkProgram.fetch(client, "cargo", "fetch", "--quiet");
        SdkProgram.run(client, "cargo", "build", "--quiet", "--offline", "--example", "default");
        tries(client, client.resolve("target/debug/examples/default").toString());
    }

    private static void needs(String program) throws Exception {
        need(new ProcessBuilder("sh", "-c", "command -v " + program).start().waitFor() == 0, program);
    }

    private Path generate(String generator) throws Exception {
        Matcher version = Pattern.compile("openapi-generator-maven-plugin</artifactId>\\s*<version>([0-9.]+)<")
                .matcher(Files.readString(Path.of("clients", "generated", "pom.xml")));
        assertThat(version.find()).isTrue();
        Path client = folder.resolve(generator);
        // The plugin's goal needs a project. This one has no options.
        Files.writeString(folder.resolve("pom.xml"), """
                <project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>
                <packaging>pom</packaging></project>
                """);
        String option = "-Dopenapi.generator.maven.plugin.";
        SdkProgram.fetch(
                folder,
                SdkProgram.maven(),
                "--batch-mode",
                "--quiet",
                "org.openapitools:openapi-generator-maven-plugin:" + version.group(1) + ":generate",
                option + "inputSpec=" + CONTRACT,
                option + "generatorName=" + generator,
                option + "output=" + client);
        return client;
    }

    private static void place(String program, Path file) throws IOException {
        Files.createDirectories(file.getParent());
        Files.copy(PROGRAMS.resolve(program), file);
    }

    /** Runs the program: it has to say the action of the record that it appended, and that polling gave no more. */
    private void tries(Path directory, String... command) throws Exception {
        Project project = service.newProject();
        Path output = folder.resolve("said");
        ProcessBuilder builder = new ProcessBuilder(new ArrayList<>(List.of(command)))
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        builder.environment().put("ANNALS_URL", service.uri().toString().replaceAll("/$", ""));
        builder.environment().put("ANNALS_TOKEN", project.token());
        process = builder.start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(Files.readString(output)).endsWith("volume_create 0" + System.lineSeparator());
        assertThat(SqlFixture.on(service.database()).checkFeed(project.id())).isEqualTo(1);
    }
}
