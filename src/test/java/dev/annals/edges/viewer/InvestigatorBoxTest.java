package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Load;
import dev.annals.Slow;
import dev.annals.core.feed.FeedReader;
import dev.annals.core.record.StoredRecord;
import dev.annals.derived.search.FilteredPages;
import dev.annals.derived.search.InvestigatorQuestionsTest;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** An investigator's questions over records of many scripts, 50,000 in the long form: the box and the API find exactly what a full scan finds. */
@Slow
@QuarkusTest
class InvestigatorBoxTest extends BrowserTest {

    private static final int RECORDS = Load.times(5_000, 50_000);
    private static final int PAGE = 1_000;
    private static final Pattern NUMBER = Pattern.compile("(At least )?([0-9,]+) records? match(es)?");

    private static final ObjectMapper JSON = new ObjectMapper();

    private final HttpClient client = HttpClient.newHttpClient();

    @Inject
    FeedReader reader;

    @Test
    void theBoxAndTheApiFindWhatAFullScanFinds() throws Exception {
        Project project = log.newProject();
        log.run(InvestigatorQuestionsTest.insert(project.id(), RECORDS));
        List<StoredRecord> all = FilteredPages.everyRecord(reader, project.id());
        assertThat(all).hasSize(RECORDS);
        Map<String, Predicate<StoredRecord>> questions = InvestigatorQuestionsTest.questions(all.get(1_234));
        assertThat(questions).hasSizeGreaterThan(30);
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            questions.forEach((question, answer) -> {
                List<Long> expected = new ArrayList<>(all.stream()
                        .filter(answer)
                        .map(StoredRecord::sequenceId)
                        .toList());
                Collections.reverse(expected);
                assertThat(found(project, question)).as(question).isEqualTo(expected);
                page.locator("input[name=q]").fill(question);
                page.keyboard().press("Enter");
                checkBox(page, question, expected);
            });
        }
    }

    private static void checkBox(Page page, String question, List<Long> expected) {
        if (expected.isEmpty()) {
            if (question.matches("\\*.+\\*")) {
                assertThat(page.locator("#progress"))
                        .containsText("An id is found as a whole or by its beginning alone.");
            }
            assertThat(page.locator("#progress"))
                    .containsText("No records match these filters. Every field of all records");
        } else {
            assertThat(page.locator("#loaded")).containsText(String.format(Locale.ROOT, " to #%,d", expected.get(0)));
        }
        Locator number = page.locator("#histogram-text");
        assertThat(number).containsText(Pattern.compile("[0-9] record"));
        Matcher told = NUMBER.matcher(number.textContent());
        assertThat(told.matches()).as(question + ": " + number.textContent()).isTrue();
        int count = Integer.parseInt(told.group(2).replace(",", ""));
        // Counting has a limit of time, which a busy machine reaches.
        if (told.group(1) == null) {
            assertThat(count).as(question).isEqualTo(expected.size());
        } else {
            assertThat(count).as(question).isLessThanOrEqualTo(expected.size());
        }
    }

    /** The sequence ids of all pages, newest first. Without REST Assured, which checks each of the large pages for long. */
    private List<Long> found(Project project, String question) {
        List<Long> found = new ArrayList<>();
        String next = service.resolve(AuditLogFixture.LOGS) + "?order=desc&limit=" + PAGE + "&q="
                + URLEncoder.encode(question, StandardCharsets.UTF_8);
        do {
            try {
                HttpResponse<byte[]> answer = client.send(
                        HttpRequest.newBuilder(URI.create(next))
                                .header("Authorization", "Bearer " + project.token())
                                .build(),
                        HttpResponse.BodyHandlers.ofByteArray());
                assertThat(answer.statusCode()).isEqualTo(200);
                JsonNode page = JSON.readTree(answer.body());
                page.path("results")
                        .forEach(record -> found.add(record.path("sequence_id").asLong()));
                next = page.path("next").textValue();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        } while (next != null);
        return found;
    }
}
