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

/**
 * ARCHITECTURE.md lists the files through which a record goes, from the request that appends it to the page that shows it, and
 * apart from them the files that only some requests use.
 */
@BesideTheService
class RecordWayTest {

    private static final int MOST_FILES = 26;

    private static final Pattern STEP = Pattern.compile("^\\| (\\d+|[a-z])\\. .*$", Pattern.MULTILINE);
    private static final Pattern FILE = Pattern.compile("`(\\w+)`");

    /** The files through which the way reaches what only some requests use. */
    private static final Set<String> BRANCHES = Set.of(
            "QueryParser",
            "Query",
            "Filter",
            "FeedIndex",
            "LiveFeed",
            "HeadWatch",
            "StandbyReader",
            "NdjsonUpload",
            "FailedBatch",
            "CatalogueCheck",
            "Misfits");

    @Test
    void theWayHasTheFilesThatAppendsAndPagesUse() throws IOException {
        assertThat(listed("\\d+")).doesNotHaveDuplicates().containsExactlyInAnyOrderElementsOf(way());
    }

    @Test
    void theSecondListHasWhatOnlySomeRequestsUse() throws IOException {
        Set<String> added = used(Set.of());
        added.removeAll(way());
        assertThat(listed("[a-z]")).doesNotHaveDuplicates().containsExactlyInAnyOrderElementsOf(added);
    }

    @Test
    void theWayIsShortEnoughToBeRead() {
        assertThat(way()).hasSizeLessThanOrEqualTo(MOST_FILES);
    }

    private static List<String> listed(String steps) throws IOException {
        Matcher rows = STEP.matcher(Files.readString(Path.of("ARCHITECTURE.md")));
        return rows.results()
                .filter(row -> row.group(1).matches(steps))
                .flatMap(row -> FILE.matcher(row.group()).results())
                .map(file -> file.group(1))
                .toList();
    }

    private static Set<String> way() {
        return used(BRANCHES);
    }

    /** The files that both resources use, also by an interface that other files implement. */
    private static Set<String> used(Set<String> apart) {
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
            String file =
                    next.getSource().orElseThrow().getFileName().orElseThrow().replace(".java", "");
            if (apart.contains(file)) {
                continue;
            }
            files.add(file);
            next.getDirectDependenciesFromSelf()
                    .forEach(dependency -> open.add(dependency.getTargetClass().getBaseComponentType()));
            open.addAll(next.getAllSubclasses());
        }
        return files;
    }
}
