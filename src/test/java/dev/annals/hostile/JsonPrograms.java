package dev.annals.hostile;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The JSON parsers that other languages come with. Each program reads a file and writes what it understood, every number as
 * {@code n} and the bits of the double that it is, in hexadecimal.
 */
enum JsonPrograms {
    PYTHON("python3", "python3 %s", "py", """
            import json, struct, sys
            def bits(text):
                return 'n%x' % struct.unpack('>Q', struct.pack('>d', float(text)))
            with open(sys.argv[1], encoding='utf-8') as source, open(sys.argv[2], 'w', encoding='utf-8') as target:
                json.dump(json.load(source, parse_int=bits, parse_float=bits), target)
            """),

    NODE("node", "node %s", "cjs", """
            const fs = require('fs');
            const view = new DataView(new ArrayBuffer(8));
            fs.writeFileSync(process.argv[3], JSON.stringify(JSON.parse(fs.readFileSync(process.argv[2], 'utf8')), (key, value) => {
              if (typeof value !== 'number') return value;
              view.setFloat64(0, value);
              return 'n' + view.getBigUint64(0).toString(16);
            }));
            """),

    GO("go", "%s.program", "go", """
            package main

            import (
                "encoding/json"
                "fmt"
                "math"
                "os"
            )

            func bits(value any) any {
                switch v := value.(type) {
                case float64:
                    return fmt.Sprintf("n%x", math.Float64bits(v))
                case []any:
                    for i := range v {
                        v[i] = bits(v[i])
                    }
                case map[string]any:
                    for key := range v {
                        v[key] = bits(v[key])
                    }
                }
                return value
            }

            func main() {
                source, err := os.ReadFile(os.Args[1])
                if err != nil {
                    panic(err)
                }
                var value any
                if err := json.Unmarshal(source, &value); err != nil {
                    panic(err)
                }
                target, err := json.Marshal(bits(value))
                if err != nil {
                    panic(err)
                }
                if err := os.WriteFile(os.Args[2], target, 0o600); err != nil {
                    panic(err)
                }
            }
            """);

    private static final ObjectMapper JSON = new ObjectMapper();

    private final String tool;
    private final String command;
    private final String extension;
    private final String source;

    JsonPrograms(String tool, String command, String extension, String source) {
        this.tool = tool;
        this.command = command;
        this.extension = extension;
        this.source = source;
    }

    /** The document as this language parses it. */
    JsonNode read(byte[] document, Path directory) throws IOException, InterruptedException {
        need(isThere(), tool);
        Path program = directory.resolve("reads." + extension);
        Path printed = directory.resolve("printed");
        if (!Files.exists(program)) {
            Files.writeString(program, source);
            if (this == GO) {
                run(List.of("go", "build", "-o", program + ".program", program.toString()), printed);
            }
        }
        Path given = Files.write(directory.resolve("given.json"), document);
        Path understood = directory.resolve("understood.json");
        List<String> line = new ArrayList<>(List.of(command.formatted(program).split(" ", -1)));
        line.addAll(List.of(given.toString(), understood.toString()));
        run(line, printed);
        return JSON.readTree(understood.toFile());
    }

    private static void run(List<String> command, Path printed) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(printed.toFile())
                .start();
        assertThat(process.waitFor(120, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).as(Files.readString(printed)).isZero();
    }

    boolean isThere() throws InterruptedException {
        try {
            return new ProcessBuilder(tool, this == GO ? "version" : "--version")
                            .redirectErrorStream(true)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException e) {
            return false;
        }
    }
}
