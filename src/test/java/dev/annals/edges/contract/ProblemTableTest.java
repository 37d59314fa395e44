package dev.annals.edges.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.kernel.http.ProblemType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class ProblemTableTest {
    private static final Pattern ROW = Pattern.compile("(?m)^ +\\| `([a-z-]+)` \\| ([0-9]{3}) \\|");

    @Test
    void theContractListsExactlyTheProblemsOfTheServiceWithTheirStatus() throws IOException {
        List<String> listed = ROW.matcher(Files.readString(Path.of("openapi.yaml")))
                .results()
                .map(row -> "urn:annals:problem:" + row.group(1) + " " + row.group(2))
                .toList();
        List<String> ofTheService = Arrays.stream(ProblemType.values())
                .filter(type -> type != ProblemType.OTHER)
                .map(type -> type.uri() + " " + type.status())
                .toList();
        assertThat(listed).containsExactlyInAnyOrderElementsOf(ofTheService);
    }
}
