package dev.annals.edges.viewer;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The viewer's reading of queries, in Node. */
@BesideTheService
class QueryModuleTest {

    private static final Path MODULE = Path.of("src/main/resources/META-INF/resources/query.js");

    /** Each text would keep normalize() busy for the better part of a second, and so the page for each record of it. */
    private static final String HOSTILE = """
            import {decomposed, placesOf, wordsOf} from './query.mjs';
            const sorted = [];
            const normalize = String.prototype.normalize;
            String.prototype.normalize = function (form) {
              sorted.push(...(this.match(/(?:(?!\\u034f)[\\p{M}\\uff9e\\uff9f])+/gu) ?? []));
              return normalize.call(this, form);
            };
            for (const text of ['a' + '\\u0301'.repeat(16000) + '\\u0327'.repeat(16000), '\\u0344\\u0327'.repeat(16000),
              'x ' + '\\uff9e\\u0327'.repeat(9000), '\\u{1d165}\\u0327'.repeat(9000)]) {
              decomposed(text);
              placesOf(text, wordsOf('zzz'));
            }
            const sought = placesOf('Caf\\u00e9 cafe\\u0301 a' + '\\u0301'.repeat(99), wordsOf('CAFE\\u0301'));
            console.log(JSON.stringify({longest: Math.max(...sorted.map((run) => [...run].length)), sought}));
            """;

    @TempDir
    Path folder;

    @Test
    void longRunsOfMarksAreDividedBeforeTheyAreNormalized() throws Exception {
        need(ProofModuleTest.isThere("node"), "Node");
        Files.copy(MODULE, folder.resolve("query.mjs"));
        Path script = Files.writeString(folder.resolve("hostile.mjs"), HOSTILE);
        Path printed = folder.resolve("printed");
        Process process = new ProcessBuilder("node", script.toString())
                .redirectErrorStream(true)
                .redirectOutput(printed.toFile())
                .start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        // A mark may decompose into two.
        assertThat(Files.readString(printed)).matches("\\{\"longest\":\\d{1,2},\"sought\":\\[\\[0,4],\\[5,10]]}\n");
    }
}
