package dev.annals.sdk;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.ToolProvider;

/** A program that uses a generated client: compiled or type-checked with it, and ready to be started as a process. */
record SdkProgram(List<String> command, Path importsFrom) {

    /** The file in a program's folder that takes what it prints. */
    static final String OUTPUT = "output.log";

    private static final Path GENERATED = Path.of("clients", "generated").toAbsolutePath();
    /** The project of the writing client for Java. */
    static final Path WRITER = Path.of("clients", "java", "writer").toAbsolutePath();

    /** The module of the writing client for Go. */
    static final Path GO_WRITER = Path.of("clients", "go").toAbsolutePath();

    private static final String BUILD_CLASS_PATH =
            "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath";
    private static final Path PROGRAMS = Path.of("target", "sdk-programs").toAbsolutePath();
    /** The languages whose client was compiled in this run. */
    private static final Set<String> PREPARED = new HashSet<>();
    /** The sources of each program when it was compiled in this run: tests share the programs. */
    private static final Map<Path, String> COMPILED = new HashMap<>();

    private static final int OLDEST_NODE = 20;
    private static final int OLDEST_PYTHON = 10;
    /** The oldest Python for the writing client: minor version of Python 3. */
    private static final int OLDEST_WRITING_PYTHON = 9;
    /** The oldest minor version of Go 1, and of Rust 1 below. */
    private static final int OLDEST_GO = 23;

    private static final int OLDEST_RUST = 85;
    private static final int OLDEST_DOTNET = 8;

    /** The interpreter of the virtual environment that has what the Python client needs. */
    static final Path PYTHON = PROGRAMS.resolve(Path.of("python", "bin", "python"));

    /** The program of a file, whose ending tells its language. */
    static SdkProgram of(Path file) throws Exception {
        String full = file.getFileName().toString();
        String name = full.substring(0, full.indexOf('.'));
        String source = Files.readString(file);
        return switch (full.substring(name.length() + 1)) {
            case "java" -> java(source, name);
            case "ts" -> typeScript(source, name);
            case "py" -> python(source, name);
            case "go" -> go(source, name);
            case "rs" -> rust(source, name);
            case "cs" -> cSharp(source, name);
            default -> throw new IllegalArgumentException(file.toString());
        };
    }

    /** A Java class. The client is compiled for Java 17, with nothing but what its POM names. */
    static synchronized SdkProgram java(String source, String name) throws Exception {
        Path program = Files.createDirectories(PROGRAMS.resolve("java")).resolve(name + ".java");
        Files.writeString(program, source);
        String libraries = jackson().stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
        Path classes = Files.createDirectories(PROGRAMS.resolve("java-classes"));
        List<String> arguments = new ArrayList<>(List.of(
                "--release",
                "17",
                "-proc:none",
                "-nowarn",
                "-cp",
                classes + File.pathSeparator + libraries,
                "-d",
                classes.toString()));
        arguments.add(program.toString());
        if (PREPARED.add("java")) {
            try (Stream<Path> sources = Files.walk(generated("java").resolve("src/main/java"))) {
                sources.map(Path::toString)
                        .filter(file -> file.endsWith(".java"))
                        .forEach(arguments::add);
            }
        }
        Matcher in = Pattern.compile("^package ([a-z.]+);").matcher(source);
        if (!isCompiled(program, source)) {
            int status = ToolProvider.getSystemJavaCompiler()
                    .run(null, System.out, System.err, arguments.toArray(String[]::new));
            assertThat(status).as("javac's status for " + name).isZero();
            COMPILED.put(program, source);
        }
        return new SdkProgram(
                List.of(
                        javaCommand(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        classes + File.pathSeparator + libraries,
                        (in.find() ? in.group(1) + "." : "") + name),
                classes);
    }

    /** A module in TypeScript. The client is installed as a user installs it, which compiles it, too. */
    static synchronized SdkProgram typeScript(String source, String name) throws Exception {
        int node = version("node --version", "v(\\d+)\\..*");
        need(node >= OLDEST_NODE, "Node " + OLDEST_NODE + " or newer");
        need(version("npm --version", "(\\d+)\\..*") > 0, "npm");
        Path client = generated("typescript");
        Path folder = Files.createDirectories(PROGRAMS.resolve("typescript"));
        if (PREPARED.add("typescript")) {
            installTypeScript(client, folder);
        }
        Path program = Files.writeString(folder.resolve(name + ".ts"), source);
        if (!isCompiled(program, source)) {
            run(
                    folder,
                    client.resolve("node_modules/.bin/tsc").toString(),
                    "--strict",
                    "--target",
                    "es2022",
                    "--module",
                    "nodenext",
                    "--typeRoots",
                    client.resolve("node_modules/@types").toString(),
                    "--types",
                    "node",
                    "--skipLibCheck",
                    name + ".ts");
            COMPILED.put(program, source);
        }
        return new SdkProgram(List.of("node", folder.resolve(name + ".js").toString()), folder);
    }

    /** The dependencies of the generated client in Java. */
    static List<Path> jackson() {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(jar -> jar.matches(".*/(jackson-(core|databind|annotations|datatype-jsr310)"
                        + "|jakarta\\.annotation-api)-[0-9.]+\\.jar"))
                .map(Path::of)
                .toList();
    }

    private static boolean isCompiled(Path program, String source) {
        return source.equals(COMPILED.get(program));
    }

    /** A script in Python, with the client's dependencies in a virtual environment. */
    static SdkProgram python(String source, String name) throws Exception {
        String python = version("python3.11 --version", "Python 3\\.(\\d+).*") > 0 ? "python3.11" : "python3";
        need(
                version(python + " --version", "Python 3\\.(\\d+).*") >= OLDEST_PYTHON,
                "Python 3." + OLDEST_PYTHON + " or newer");
        need(version(python + " -c \"import venv, ensurepip; print(1)\"", "(1)") == 1, "Python's venv");
        Path client = generated("python");
        Path environment = PYTHON.getParent().getParent();
        Path installed = environment.resolve("requirements.txt");
        String requirements = Files.readString(client.resolve("requirements.txt"));
        if (!Files.exists(installed) || !Files.readString(installed).equals(requirements)) {
            run(PROGRAMS, python, "-m", "venv", environment.toString());
            fetch(client, PYTHON.toString(), "-m", "pip", "install", "--quiet", "-r", "requirements.txt");
            Files.writeString(installed, requirements);
        }
        Path script = environment.resolve(name + ".py");
        Files.writeString(script, source);
        return new SdkProgram(List.of(PYTHON.toString(), script.toString()), client);
    }

    /** A program in Go. The client has no dependencies. */
    static SdkProgram go(String source, String name) throws Exception {
        return go(source, name, PROGRAMS.resolve("go"), "annals.dev/client/go", generated("go"));
    }

    private static SdkProgram go(String source, String name, Path folder, String module, Path client) throws Exception {
        need(version("go version", "go version go1\\.(\\d+).*") >= OLDEST_GO, "Go 1." + OLDEST_GO + " or newer");
        Files.createDirectories(folder);
        Files.writeString(folder.resolve("go.mod"), """
                module %1$s

                go 1.%2$d

                require %3$s v0.0.0

                replace %3$s => %4$s
                """.formatted(name, OLDEST_GO, module, client));
        Files.writeString(folder.resolve(name + ".go"), source);
        run(folder, "go", "build", "-o", name, ".");
        return new SdkProgram(List.of(folder.resolve(name).toString()), client);
    }

    /** The program in Rust. Its dependencies come from crates.io, and are compiled once. */
    static SdkProgram rust(String source, String name) throws Exception {
        need(version("cargo --version", "cargo 1\\.(\\d+).*") >= OLDEST_RUST, "Rust 1." + OLDEST_RUST + " or newer");
        Path client = generated("rust");
        Path folder = Files.createDirectories(PROGRAMS.resolve("rust"));
        Files.copy(
                Path.of("src/test/sdk/Cargo.toml"), folder.resolve("Cargo.toml"), StandardCopyOption.REPLACE_EXISTING);
        Files.writeString(folder.resolve(name + ".rs"), source);
        fetch(folder, "cargo", "fetch", "--quiet");
        run(folder, "cargo", "build", "--quiet", "--offline", "--target-dir", "target");
        return new SdkProgram(
                List.of(folder.resolve(Path.of("target", "debug", name)).toString()), client);
    }

    /** A program in C#. Nothing else here uses .NET, so no machine is required to have it. */
    static SdkProgram cSharp(String source, String name) throws Exception {
        assumeTrue(
                version("dotnet --version", "(\\d+)\\..*") >= OLDEST_DOTNET,
                "this needs .NET " + OLDEST_DOTNET + " or newer");
        Path client = generated("csharp");
        Path folder = Files.createDirectories(PROGRAMS.resolve("csharp"));
        Files.writeString(folder.resolve(name + ".csproj"), """
                <Project Sdk="Microsoft.NET.Sdk">
                  <PropertyGroup>
                    <OutputType>Exe</OutputType>
                    <TargetFramework>net%d.0</TargetFramework>
                    <RollForward>Major</RollForward>
                    <ImplicitUsings>enable</ImplicitUsings>
                    <Nullable>enable</Nullable>
                  </PropertyGroup>
                  <ItemGroup>
                    <ProjectReference Include="%s" />
                  </ItemGroup>
                </Project>
                """.formatted(
                        OLDEST_DOTNET, client.resolve("src/Annals.Client/Annals.Client.csproj")));
        Files.writeString(folder.resolve(name + ".cs"), source);
        fetch(folder, "dotnet", "restore");
        run(folder, "dotnet", "build", "--no-restore", "--output", "out");
        return new SdkProgram(
                List.of("dotnet", folder.resolve(Path.of("out", name + ".dll")).toString()), client);
    }

    /** The writing client's jar. The first call builds it. */
    static synchronized Path writerJar() throws Exception {
        if (PREPARED.add("writer")) {
            run(WRITER, maven(), "--batch-mode", "--quiet", "-Dmaven.javadoc.skip", "package");
        }
        try (Stream<Path> files = Files.list(WRITER.resolve("target"))) {
            return files.filter(file -> file.getFileName().toString().matches("annals-writer-[0-9.]+\\.jar"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    /** The libraries that the POM in this folder names, and theirs. */
    static List<Path> libraries(Path project) throws Exception {
        run(project, maven(), "--batch-mode", "--quiet", BUILD_CLASS_PATH, "-Dmdep.outputFile=target/classpath");
        String classPath = Files.readString(project.resolve("target/classpath"));
        return Stream.of(classPath.split(File.pathSeparator)).map(Path::of).toList();
    }

    /** The program that appends numbers with the writing client of this language. */
    static SdkProgram writer(String language) throws Exception {
        Path sources = Path.of("src", "test", "writer");
        return switch (language) {
            case "java" -> writer(language, Files.readString(sources.resolve("Program.java")), "Program");
            case "python" -> writer(language, Files.readString(sources.resolve("program.py")), "program");
            case "go" -> writer(language, Files.readString(sources.resolve("program.go")), "program");
            default -> writer(language, Files.readString(sources.resolve("program.ts")), "program");
        };
    }

    /** A program that uses the writing client of its language. */
    static synchronized SdkProgram writer(String language, String source, String name) throws Exception {
        Path folder = Files.createDirectories(PROGRAMS.resolve("writer-" + language));
        if (language.equals("java")) {
            return writerInJava(source, name, List.of());
        }
        if (language.equals("python")) {
            need(
                    version("python3 --version", "Python 3\\.(\\d+).*") >= OLDEST_WRITING_PYTHON,
                    "Python 3." + OLDEST_WRITING_PYTHON + " or newer");
            Path script = Files.writeString(folder.resolve(name + ".py"), source);
            return new SdkProgram(
                    List.of("python3", script.toString()),
                    Path.of("clients", "python").toAbsolutePath());
        }
        if (language.equals("go")) {
            return go(source, name, folder.resolve(name), "annals.dev/writer", GO_WRITER);
        }
        Files.copy(
                Path.of("clients", "typescript", "annals.ts"),
                Files.createDirectories(PROGRAMS.resolve("typescript")).resolve("annals.ts"),
                StandardCopyOption.REPLACE_EXISTING);
        return typeScript(source.replace("'annals-writer'", "'./annals.js'"), name);
    }

    static String javaCommand() {
        return Path.of(System.getProperty("java.home"), "bin", "java").toString();
    }

    /** A program that uses the writing client for Java, beside these libraries. */
    static synchronized SdkProgram writerInJava(String source, String name, List<Path> libraries) throws Exception {
        Path folder = Files.createDirectories(PROGRAMS.resolve("writer-java"));
        Path file = Files.writeString(folder.resolve(name + ".java"), source);
        String classPath = Stream.concat(Stream.of(folder, writerJar()), libraries.stream())
                .map(Path::toString)
                .collect(Collectors.joining(File.pathSeparator));
        if (!isCompiled(file, source)) {
            int status = ToolProvider.getSystemJavaCompiler()
                    .run(
                            null,
                            System.out,
                            System.err,
                            "--release",
                            "17",
                            "-proc:none",
                            "-Xlint:all,-classfile",
                            "-Werror",
                            "-cp",
                            classPath,
                            "-d",
                            folder.toString(),
                            file.toString());
            assertThat(status).as("javac's status for " + file).isZero();
            COMPILED.put(file, source);
        }
        return new SdkProgram(
                List.of(javaCommand(), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classPath, name), folder);
    }

    /** Starts the program in this folder, with the service and the token in its environment. */
    Process start(Path folder, URI service, String token) throws IOException {
        return start(folder, service, token, Map.of());
    }

    /** The same, with more in its environment. */
    Process start(Path folder, URI service, String token, Map<String, String> more) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve(OUTPUT).toFile());
        builder.environment().put("ANNALS_URL", service.toString().replaceAll("/$", ""));
        builder.environment().put("ANNALS_TOKEN", token);
        builder.environment().putAll(more);
        builder.environment().put("PYTHONPATH", importsFrom.toString());
        return builder.start();
    }

    /** The languages in which clients are generated. */
    static List<String> languages() throws Exception {
        try (Stream<Path> folders = Files.list(generated(""))) {
            return folders.filter(Files::isDirectory)
                    .map(folder -> folder.getFileName().toString())
                    .toList();
        }
    }

    /** The generated client of this language. The first test that asks for one has Maven generate all of them. */
    private static synchronized Path generated(String language) throws Exception {
        if (PREPARED.add("generated")) {
            run(GENERATED, maven(), "--batch-mode", "--quiet", "generate-sources");
        }
        return GENERATED.resolve("target").resolve(language);
    }

    /** The Maven that runs these tests. */
    static String maven() {
        return Path.of(System.getProperty("maven.home"), "bin", "mvn").toString();
    }

    private static void installTypeScript(Path client, Path folder) throws Exception {
        String packageJson = Files.readString(client.resolve("package.json"));
        Path installed = client.resolve("node_modules/installed-package.json");
        if (Files.exists(installed) && Files.readString(installed).equals(packageJson)) {
            run(client, "npm", "run", "--silent", "prepare");
        } else {
            fetch(client, "npm", "install", "--no-audit", "--no-fund", "--loglevel=error");
            Files.writeString(installed, packageJson);
        }
        Path link = folder.resolve("node_modules/annals-client");
        if (!Files.exists(link)) {
            Files.createDirectories(link.getParent());
            Files.createSymbolicLink(link, client);
        }
        Files.writeString(folder.resolve("package.json"), "{\"private\": true, \"type\": \"module\"}");
    }

    /** The first group of what the command prints; 0 where there is no such command. */
    private static int version(String command, String pattern) throws Exception {
        Process process = new ProcessBuilder("sh", "-c", command)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        process.waitFor();
        return Optional.of(printed.replaceFirst(pattern, "$1"))
                .filter(number -> number.matches("\\d+"))
                .map(Integer::parseInt)
                .orElse(0);
    }

    /** Runs what fetches packages: where there is no registry, nothing can be said of the client. */
    static void fetch(Path folder, String... command) throws Exception {
        try {
            run(folder, command);
        } catch (AssertionError e) {
            need(false, "what " + String.join(" ", command) + " fetches: " + e.getMessage());
        }
    }

    static void run(Path folder, String... command) throws Exception {
        Path output = Files.createTempFile(Files.createDirectories(PROGRAMS), "run-", ".log");
        try {
            Process process = new ProcessBuilder(command)
                    .directory(folder.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            if (!process.waitFor(480, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
            assertThat(process.exitValue())
                    .as(String.join(" ", command) + System.lineSeparator() + Files.readString(output))
                    .isZero();
        } finally {
            Files.delete(output);
        }
    }
}
