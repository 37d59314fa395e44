package dev.annals;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class DocumentLinksTest {

    private static final Pattern CODE = Pattern.compile("(?ms)^```.*?^```$|`[^`\n]*`");
    private static final Pattern LINK =
            Pattern.compile("\\]\\((?!https?:)([^)#\\s]*)(#[^)\\s]*)?\\)|(?:src|srcset)=\"([^\"]+)\"");
    private static final Pattern HEADING = Pattern.compile("(?m)^#+ (.*)$");
    private static final Pattern WORD = Pattern.compile("\\S+");
    private static final int ARCHITECTURE_WORDS = 900;
    private static final int README_WORDS = 700;

    @Test
    void everyLinkOfTheDocumentsLeadsToAFileAndAHeadingThatAreThere() throws IOException {
        List<String> broken = new ArrayList<>();
        for (Path document : documents()) {
            String text = CODE.matcher(Files.readString(document)).replaceAll("");
            for (Matcher link = LINK.matcher(text); link.find(); ) {
                String file = link.group(3) == null ? link.group(1) : link.group(3);
                Path target = file.isEmpty()
                        ? document
                        : document.resolveSibling(file).normalize();
                String anchor = link.group(2);
                boolean isThere = Files.exists(target)
                        && (anchor == null || anchors(target).contains(anchor.substring(1)));
                if (!isThere) {
                    broken.add(document + ": " + link.group());
                }
            }
        }
        assertThat(broken).isEmpty();
    }

    @Test
    void theFirstTwoPagesStayShort() throws IOException {
        assertThat(words("README.md")).isLessThanOrEqualTo(README_WORDS);
        assertThat(words("ARCHITECTURE.md")).isLessThanOrEqualTo(ARCHITECTURE_WORDS);
    }

    private static long words(String document) throws IOException {
        return WORD.matcher(Files.readString(Path.of(document))).results().count();
    }

    private static List<Path> documents() throws IOException {
        List<Path> documents = new ArrayList<>();
        for (String folder : List.of("docs", "examples")) {
            try (Stream<Path> files = Files.walk(Path.of(folder))) {
                documents.addAll(files.filter(DocumentLinksTest::isDocument).toList());
            }
        }
        try (Stream<Path> files = Files.list(Path.of(""))) {
            documents.addAll(files.filter(DocumentLinksTest::isDocument).toList());
        }
        return documents;
    }

    private static boolean isDocument(Path file) {
        return file.toString().endsWith(".md");
    }

    /** The headings as GitHub makes anchors of them. */
    private static List<String> anchors(Path document) throws IOException {
        return HEADING.matcher(Files.readString(document))
                .results()
                .map(heading -> heading.group(1)
                        .toLowerCase(Locale.ROOT)
                        .replaceAll("[^\\p{L}\\p{N} _-]", "")
                        .replace(' ', '-'))
                .toList();
    }
}
