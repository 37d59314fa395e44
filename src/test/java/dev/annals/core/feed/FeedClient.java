package dev.annals.core.feed;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.annals.AuditLogFixture;
import io.restassured.mapper.ObjectMapperType;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Writes to a project's feed, and reads it by its links. */
public record FeedClient(AuditLogFixture.Project project) {

    public static final String FEED = "/v1/project-logs";

    /** One page with checked links. Parsed once, because REST Assured compiles a script for each path. */
    public record Page(
            ExtractableResponse<Response> answer,
            List<Map<String, Object>> records,
            @Nullable String next,
            String pollMore) {

        public static Page of(ExtractableResponse<Response> answer) {
            Body body = answer.as(Body.class, ObjectMapperType.JACKSON_2);
            return new Page(answer, body.results(), body.next(), body.pollMore());
        }

        private record Body(
                List<Map<String, Object>> results,
                @Nullable String next,
                @JsonProperty("poll_more") String pollMore,
                @Nullable Object search) {}

        public List<Long> sequenceIds() {
            return records.stream()
                    .map(record -> ((Number) record.get("sequence_id")).longValue())
                    .toList();
        }

        public List<String> actions() {
            return records.stream().map(record -> (String) record.get("action")).toList();
        }
    }

    /** Appends JSON records in one request. */
    public void append(String... records) {
        project.request()
                .contentType("application/json")
                .body(AuditLogFixture.batch(records).getBytes(StandardCharsets.UTF_8))
                .post(AuditLogFixture.BATCH)
                .then()
                .statusCode(201);
    }

    /** Appends this many records in one request. */
    public void append(int count) {
        append(IntStream.range(0, count).mapToObj(i -> "{\"action\": \"a\"}").toArray(String[]::new));
    }

    /** Reads the page at a path or URL, and checks that headers and body agree. */
    public Page page(String url) {
        // Only the answer is validated: the validator of the contract refuses percent-encoded times.
        ExtractableResponse<Response> answer =
                project.wrongRequest().get(url).then().statusCode(200).extract();
        Page page = Page.of(answer);
        String next = page.next();
        assertThat(answer.header("Link"))
                .isEqualTo((next == null ? "" : "<" + next + ">; rel=\"next\", ") + "<" + page.pollMore()
                        + ">; rel=\"poll-more\"");
        for (String link : next == null ? List.of(page.pollMore()) : List.of(next, page.pollMore())) {
            assertThat(URI.create(link)).hasScheme("http").hasPath(FEED);
        }
        return page;
    }

    /** Follows {@code next} from a page to the end, and returns all pages. */
    public List<Page> walk(String url) {
        List<Page> pages = new ArrayList<>();
        for (String next = url; next != null; next = pages.get(pages.size() - 1).next()) {
            pages.add(page(next));
            assertThat(pages).hasSizeLessThan(1_000);
        }
        return pages;
    }

    public static List<Long> sequenceIds(List<Page> pages) {
        return pages.stream().flatMap(page -> page.sequenceIds().stream()).collect(Collectors.toList());
    }

    public static List<String> actions(List<Page> pages) {
        return pages.stream().flatMap(page -> page.actions().stream()).collect(Collectors.toList());
    }
}
