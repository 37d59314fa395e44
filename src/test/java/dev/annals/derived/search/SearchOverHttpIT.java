package dev.annals.derived.search;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;

import dev.annals.NothingByItself;
import dev.annals.OneByOne;
import dev.annals.ProjectTest;
import dev.annals.core.feed.FeedClient;
import dev.annals.core.feed.SseStream;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients search for words and addresses before records are indexed. */
@QuarkusTest
@OneByOne
@TestProfile(NothingByItself.class)
class SearchOverHttpIT extends ProjectTest {

    @TestHTTPResource("/")
    URI service;

    @Test
    void wordsAndAddressesAreFoundOverHttpHoweverTheyAreWritten() {
        FeedClient feed = new FeedClient(project);
        feed.append("""
                        {"action": "a", "message": "Volume 'cache-7' has been CREATED.", "ip_address": "2001:db8::7"}""", """
                        {"action": "a", "message": "volume_create by jane@example.org", "ip_address": "10.0.0.7"}""", """
                        {"action": "a", "message": "volumes"}""", "{\"action\": \"volume\"}");
        for (String order : List.of("", "&order=desc")) {
            assertThat(found(feed, "q=volume" + order)).containsExactlyInAnyOrder(1L, 2L, 4L);
            assertThat(found(feed, "q=message:volume" + order)).containsExactlyInAnyOrder(1L, 2L);
            assertThat(found(feed, "q=Created+VOLUME" + order)).containsExactly(1L);
            assertThat(found(feed, "q=cache-7" + order)).containsExactly(1L);
            assertThat(found(feed, "q=7+cache%25" + order)).containsExactly(1L);
            assertThat(found(feed, "q=example" + order)).containsExactly(2L);
            assertThat(found(feed, "q=vol" + order)).isEmpty();
            assertThat(found(feed, "ip_address=2001:DB8:0:0::7" + order)).containsExactly(1L);
            assertThat(found(feed, "ip_address=10.0.0.7&q=jane" + order)).containsExactly(2L);
        }
        String link = feed.page(FeedClient.FEED + "?q=a+b&ip_address=::1").pollMore();
        assertThat(link).contains("q=a+b", "ip_address=::1");
        for (String refused : List.of(
                "q=", "q=---", "q=" + "a".repeat(1_025), "q=a%00", "ip_address=jane", "ip_address=10.0.0.0/8")) {
            project.wrongRequest().get(FeedClient.FEED + "?" + refused).then().statusCode(400);
        }
    }

    @Test
    void aQueryChoosesTheSameRecordsForPagesWaitsStreamsAndExports() throws Exception {
        FeedClient feed = new FeedClient(project);
        feed.append("""
                        {"action": "volume_create", "actor": {"type": "user", "id": "u-1", "name": "Jane"}, "outcome": "success",
                         "ip_address": "10.1.2.3", "message": "The disk is full", "metadata": {"request": {"id": "7F"}}}""", """
                        {"action": "volume_delete", "actor": {"type": "user", "id": "jane"}, "outcome": "denied",
                         "ip_address": "192.168.0.1", "message": "Full is the disk", "timestamp": "2020-02-29T12:00:00Z"}""", """
                        {"action": "door_open", "actor": {"type": "service", "name": "o'hara \\"; --"}, "message": "A 7%_"}""");
        Map<String, List<Long>> queries = Map.of(
                "actor:JANE -outcome:success", List.of(2L),
                "\"disk is full\"", List.of(1L),
                "action:volume_* last:24h", List.of(1L),
                "ip:10.0.0.0/8 OR action:door_open", List.of(1L, 3L),
                "metadata.request.id:7f", List.of(1L),
                "occurred_at:2020-02-29", List.of(2L),
                "actor:\"o'hara \\\"; --\"", List.of(3L),
                "-ip:*", List.of(3L));
        for (var query : queries.entrySet()) {
            String q = "q=" + URLEncoder.encode(query.getKey(), UTF_8);
            assertThat(found(feed, q)).as(q).isEqualTo(query.getValue());
            assertThat(found(feed, q + "&order=desc")).as(q).containsExactlyInAnyOrderElementsOf(query.getValue());
            assertThat(found(feed, q + "&limit=1")).as(q).isEqualTo(query.getValue());
            assertThat(feed.page(FeedClient.FEED + "?wait=1&" + q).sequenceIds())
                    .as(q)
                    .isEqualTo(query.getValue());
            String export = project.wrongRequest()
                    .get(FeedClient.FEED + "/export?" + q)
                    .then()
                    .statusCode(200)
                    .extract()
                    .asString();
            assertThat(export.lines().map(line -> line.replaceAll(".*\"sequence_id\":(\\d+).*", "$1")))
                    .as(q)
                    .isEqualTo(query.getValue().stream().map(Object::toString).toList());
            try (SseStream stream =
                    SseStream.open(HttpRequest.newBuilder(service.resolve(FeedClient.FEED + "/stream?" + q))
                            .header("Authorization", "Bearer " + project.token())
                            .build())) {
                for (Long sequenceId : query.getValue()) {
                    String data = stream.next().data();
                    while (data == null) {
                        data = stream.next().data();
                    }
                    assertThat(data).as(q).contains("\"sequence_id\":" + sequenceId + ",");
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "/export", "/stream"})
    void anErrorInAQueryPointsAtItsCharacter(String of) {
        project.wrongRequest()
                .get(FeedClient.FEED + of + "?q=actor:jane+acton:foo")
                .then()
                .statusCode(400)
                .body("type", equalTo("urn:annals:problem:invalid-parameter"))
                .body("parameter", equalTo("q"))
                .body("position", equalTo(12))
                .body(
                        "detail",
                        containsString(
                                "At character 12: there is no field \"acton\", expected one of id, action, actor,"));
    }

    private static List<Long> found(FeedClient feed, String query) {
        return FeedClient.sequenceIds(feed.walk(FeedClient.FEED + "?" + query));
    }
}
