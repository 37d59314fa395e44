package dev.annals.core;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import dev.annals.BesideTheService;
import dev.annals.OwnClasses;
import dev.annals.core.append.AppendResource;
import dev.annals.core.feed.FeedResource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** ARCHITECTURE.md lists the files through which a record goes, from the request that appends it to the page that shows it. */
@BesideTheService
class RecordWayTest {

    private static final Pattern STEP = Pattern.compile("^\\| \\d+\\. .*$", Pattern.MULTILINE);
    private static final Pattern FILE = Pattern.compile("`(\\w+)`");

    @Test
    void theListHasEachFileOfTheCoreThatTheyUse() throws IOException {
        assertThat(listed()).doesNotHaveDuplicates().containsExactlyInAnyOrderElementsOf(used());
    }

    private static List<String> listed() throws IOException {
        Matcher steps = STEP.matcher(Files.readString(Path.of("ARCHITECTURE.md")));
        return steps.results()
                .flatMap(step -> FILE.matcher(step.group()).results())
                .map(file -> file.group(1))
                .toList();
    }

    private static Set<String> used() {
        Set<String> files = new HashSet<>();
        Deque<JavaClass> open = new ArrayDeque<>();
        open.add(OwnClasses.all().get(AppendResource.class));
        open.add(OwnClasses.all().get(FeedResource.class));
        Set<JavaClass> seen = new HashSet<>();
        while (!open.isEmpty()) {
            JavaClass next = open.remove();
            if (!next.getPackageName().startsWith("dev.annals.core.") || !seen.add(next)) {
                continue;
            }
            files.add(next.getSource().orElseThrow().getFileName().orElseThrow().replace(".java", ""));
            next.getDirectDependenciesFromSelf()
                    .forEach(dependency -> open.add(dependency.getTargetClass().getBaseComponentType()));
        }
        return files;
    }
}
