package dev.annals.edges.export;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasSize;

import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.OneByOne;
import dev.annals.Slow;
import dev.annals.TakesLong;
import dev.annals.core.feed.SmallPages;
import dev.annals.kernel.http.ProblemException;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import jakarta.inject.Inject;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Exports at their limits: how many, how long a client may read nothing, how much is read at a time. */
@Slow
@QuarkusTest
@OneByOne
@TestProfile(SmallPages.class)
@Timeout(120)
class ExportLimitsIT {

    @Inject
    AuditLogFixture log;

    @Inject
    Exports exports;

    @TestHTTPResource("/")
    URI service;

    @Test
    @TakesLong
    void clientsThatReadNothingHoldTheirPlacesForAWhileAndDisturbNoOthers() throws Exception {
        ExportClient slow = big();
        ExportClient other = big();
        HttpResponse<InputStream> first = slow.open("");
        HttpResponse<InputStream> second = slow.open("?format=csv");

        assertFull(slow, "of this project");
        HttpResponse<InputStream> third = other.open("");
        assertThat(third.statusCode()).isEqualTo(200);
        assertFull(new ExportClient(log.newProject(), service), "of all projects");
        // Those who export nothing notice nothing.
        slow.append("{\"action\": \"meanwhile\"}");
        slow.project().request().get("/v1/project-logs").then().statusCode(200).body("results", hasSize(1));

        awaitPlaces(slow, 2);
        awaitPlaces(other, 2);
        for (HttpResponse<InputStream> givenUp : List.of(first, second, third)) {
            assertThatThrownBy(() -> givenUp.body().readAllBytes()).isInstanceOf(IOException.class);
        }
        assertThat(slow.lines("?action=meanwhile")).hasSize(1);
    }

    @Test
    void aClientThatGoesAwayGivesItsPlaceBack() throws Exception {
        ExportClient client = big();
        for (int i = 0; i < 10; i++) {
            try (InputStream body = client.open("").body()) {
                body.readNBytes(10);
            }
            awaitPlaces(client, 2);
        }
    }

    @Test
    void everyRecordComesOnceHoweverSmallThePagesAre() throws Exception {
        ExportClient client = new ExportClient(log.newProject(), service);
        client.append(HostileRecords.all().toArray(String[]::new));
        assertThat(client.lines("")).isEqualTo(client.feed());
        assertThat(client.lines("?cursor=3&start=0001-01-01T00:00:00Z"))
                .isEqualTo(client.feed().subList(3, HostileRecords.all().size()));
        log.checkFeed(client.project().id());
    }

    /** With more than the sockets between service and client hold. */
    private ExportClient big() throws Exception {
        ExportClient client = new ExportClient(log.newProject(), service);
        try (Connection connection = log.connect()) {
            client.appendMany(connection, 1_000, 60_000);
        }
        return client;
    }

    private static void assertFull(ExportClient client, String whose) {
        client.project()
                .request()
                .get(ExportClient.PATH)
                .then()
                .statusCode(503)
                .header("Retry-After", equalTo("10"))
                .body("detail", org.hamcrest.Matchers.containsString(whose));
    }

    private void awaitPlaces(ExportClient client, int places) throws Exception {
        Await.until(places + " places are free", () -> {
            List<Runnable> taken = new ArrayList<>();
            try {
                while (taken.size() < places) {
                    taken.add(exports.take(client.project().id()));
                }
                return true;
            } catch (ProblemException stillFull) {
                return false;
            } finally {
                taken.forEach(Runnable::run);
            }
        });
    }
}
