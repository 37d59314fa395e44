package dev.annals.core.feed;

import static dev.annals.ProblemAssertions.assertProblem;
import static dev.annals.core.feed.FeedClient.FEED;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A cursor is valid only in its own feed. */
@QuarkusTest
@SuppressWarnings("OrphanedFormatString") // paths are percent-encoded
class CursorTest extends FeedTest {

    /** Requests that read by different statements. */
    private static final String[] QUERIES = {"", "&action=a", "&order=desc", "&order=desc&action=a"};

    @BeforeEach
    void writeTenRecords() {
        feed.append(10);
    }

    @AfterEach
    void nothingIsAdded() throws Exception {
        assertThat(log.checkFeed(project.id())).isEqualTo(10);
    }

    @Test
    void theTextOfACursorContainsItsSequenceIdAndParsesToAnEqualCursor() {
        UUID projectId = UUID.randomUUID();
        UUID recordId = UUID.randomUUID();
        Cursor cursor = Cursor.behind(projectId, 10_225, recordId, 7);
        assertThat(cursor.toString()).matches("10225-[0-9a-f]{8}");
        assertThat(Cursor.parse(cursor.toString())).contains(cursor);
        assertThat(cursor.matches(projectId, recordId, 7)).isTrue();
        assertThat(cursor.matches(projectId, UUID.randomUUID(), 7)).isFalse();
        assertThat(cursor.matches(UUID.randomUUID(), recordId, 7)).isFalse();
        assertThat(cursor.matches(projectId, recordId, 8)).isFalse();
        assertThat(Cursor.START).hasToString("0");
    }

    @Test
    void checkValuesOfSimilarRecordsDiffer() {
        UUID projectId = UUID.randomUUID();
        long distinct = LongStream.range(0, 10_000)
                .mapToObj(i -> Cursor.behind(projectId, 1, new UUID(0x019a9d5e7c1a7b52L, 0x9e0d3f6a1c2b4d5eL + i), 7))
                .distinct()
                .count();
        assertThat(distinct).isGreaterThan(9_990);
    }

    @Test
    void checkValuesOfOneRecordThatIsPlacedAgainAndAgainDiffer() {
        UUID projectId = UUID.randomUUID();
        UUID recordId = UUID.randomUUID();
        long distinct = IntStream.range(-5_000, 5_000)
                .mapToObj(mark -> Cursor.behind(projectId, 1, recordId, mark))
                .distinct()
                .count();
        assertThat(distinct).isGreaterThan(9_990);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "x",
                "-1",
                "-1-9f3a61c2",
                "+1",
                "1e3",
                "0x1",
                "1-",
                "1-9f3a61c",
                "1-9f3a61c2a",
                "1-9F3A61C2",
                "1-9f3a61cg",
                "1--9f3a61c2",
                "0-9f3a61c2",
                "1 ",
                "١",
                "1234567890123456789",
                "99999999999999999999999999",
                "null",
                "undefined",
                "next",
                "'",
                "%",
                "\u0000",
                "1\u0000",
                "🚀",
                "../../etc/passwd",
                "1;drop table audit_record",
                "<script>"
            })
    void otherTextsAreRefused(String text) {
        String encoded = URLEncoder.encode(text, StandardCharsets.UTF_8);
        for (String query : QUERIES) {
            assertRefused(encoded + query, 400, "invalid-cursor");
        }
        assertRefused("5." + encoded + "&order=desc", 400, "invalid-cursor");
        assertRefused(encoded + ".5&order=desc", 400, "invalid-cursor");
    }

    @ParameterizedTest
    @ValueSource(strings = {"5.5", "5.", ".5", ".", "5.5.5"})
    void aCursorOfAWalkBackIsNoneOfAWalkForward(String cursor) {
        assertRefused(cursor, 400, "invalid-cursor");
        assertRefused(cursor + "&action=a", 400, "invalid-cursor");
    }

    @Test
    void aCursorOfAnyLengthIsRefusedWithoutHarm() {
        assertRefused("1".repeat(3_000), 400, "invalid-cursor");
        assertRefused("1-" + "f".repeat(3_000), 400, "invalid-cursor");
    }

    @ParameterizedTest
    @ValueSource(strings = {"11", "12", "1000000", "999999999999999999", "11-9f3a61c2", "999999999999999999-00000000"})
    void aCursorBeyondTheHeadIsRefused(String cursor) {
        for (String query : QUERIES) {
            assertRefused(cursor + query, 409, "feed-rewound");
        }
    }

    @Test
    void aCursorWithAnotherCheckValueIsRefused() {
        String cursor = cursorBehind(5);
        for (int digit = 0; digit < 8; digit++) {
            char[] altered = cursor.toCharArray();
            int at = cursor.length() - 1 - digit;
            altered[at] = altered[at] == '0' ? '1' : '0';
            for (String query : QUERIES) {
                assertRefused(new String(altered) + query, 409, "feed-rewound");
            }
        }
    }

    @Test
    void aCheckValueMovedToAnotherSequenceIdIsRefused() {
        String check = cursorBehind(5).substring(1);
        for (String sequenceId : new String[] {"1", "4", "6", "10"}) {
            for (String query : QUERIES) {
                assertRefused(sequenceId + check + query, 409, "feed-rewound");
            }
        }
    }

    @Test
    void aCursorOfAnotherProjectIsRefused() throws Exception {
        AuditLogFixture.Project other = log.newProject();
        new FeedClient(other).append(10);
        String theirs = new FeedClient(other).page(FEED + "?limit=5").pollMore();
        for (String query : QUERIES) {
            assertRefused(theirs.replaceAll(".*cursor=([^&]*).*", "$1") + query, 409, "feed-rewound");
        }
        log.checkFeed(other.id());
    }

    @Test
    void theCursorsOfAWalkBackAreCheckedWhereTheyAreUsed() {
        String next = feed.page(FEED + "?order=desc&limit=3").next();
        assertThat(feed.page(next).sequenceIds()).containsExactly(7L, 6L, 5L);
        String cursor = next.replaceAll(".*cursor=([^&.]*).*", "$1");
        String head = next.replaceAll(".*cursor=[^.]*\\.([^&]*).*", "$1");
        assertThat(head).isEqualTo(cursorBehind(10));
        assertRefused(cursor.replaceFirst("^8", "7") + "." + head + "&order=desc", 409, "feed-rewound");
        String wrongHead = head.replaceFirst("^10", "9");
        String pollMore = feed.page(FEED + "?cursor=" + cursor + "." + wrongHead + "&order=desc")
                .pollMore();
        assertRefused(pollMore.replaceAll(".*cursor=", ""), 409, "feed-rewound");
    }

    private String cursorBehind(int sequenceId) {
        return feed.page(FEED + "?limit=" + sequenceId).pollMore().replaceAll(".*cursor=([^&]*).*", "$1");
    }

    private void assertRefused(String cursor, int status, String slug) {
        ExtractableResponse<Response> answer =
                project.wrongRequest().get(FEED + "?cursor=" + cursor).then().extract();
        assertProblem(answer, status, slug);
    }
}
