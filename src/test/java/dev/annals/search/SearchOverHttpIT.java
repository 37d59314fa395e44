package dev.annals.search;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.NothingByItself;
import dev.annals.OneByOne;
import dev.annals.ProjectTest;
import dev.annals.feed.FeedClient;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Words and addresses as clients ask for them, with everything still missing in the index. */
@QuarkusTest
@OneByOne
@TestProfile(NothingByItself.class)
class SearchOverHttpIT extends ProjectTest {

    @Test
    void wordsAndAddressesAreFoundOverHttpHoweverTheyAreWritten() {
        FeedClient feed = new FeedClient(project);
        feed.append("""
                        {"action": "a", "message": "Volume 'cache-7' has been CREATED.", "ip_address": "2001:db8::7"}""", """
                        {"action": "a", "message": "volume_create by jane@example.org", "ip_address": "10.0.0.7"}""", """
                        {"action": "a", "message": "volumes"}""", "{\"action\": \"volume\"}");
        for (String order : List.of("", "&order=desc")) {
            assertThat(found(feed, "q=volume" + order)).containsExactlyInAnyOrder(1L, 2L);
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
        for (String refused :
                List.of("q=", "q=---", "q=" + "a".repeat(257), "q=a%00", "ip_address=jane", "ip_address=10.0.0.0/8")) {
            project.wrongRequest().get(FeedClient.FEED + "?" + refused).then().statusCode(400);
        }
    }

    private static List<Long> found(FeedClient feed, String query) {
        return FeedClient.sequenceIds(feed.walk(FeedClient.FEED + "?" + query));
    }
}
