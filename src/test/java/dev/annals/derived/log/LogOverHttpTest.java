package dev.annals.derived.log;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.ProblemAssertions;
import dev.annals.ProjectTest;
import dev.annals.derived.projection.RandomRecords;
import dev.annals.kernel.http.ProblemType;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Hash;
import dev.annals.proof.ProvedRecord;
import dev.annals.tools.embedded.TestDatabase;
import dev.annals.tools.ops.LogCommands;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.RestAssured;
import io.restassured.response.Response;
import jakarta.inject.Inject;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A reader that trusts only a key verifies the log over HTTP. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class LogOverHttpTest extends ProjectTest {

    private static final String LOGS = AuditLogFixture.LOGS;

    private final Random random = new Random(20260203);

    @Inject
    TileCache tiles;

    @Inject
    MeterRegistry metrics;

    @Test
    void aRecordIsProvedOnceItsRequestIsAnswered() throws Exception {
        LogReader reader = new LogReader(project);
        for (int n = 1; n <= 3; n++) {
            String id = project.request()
                    .contentType("application/json")
                    .body("{\"action\": \"a\", \"metadata\": {\"n\": 1.10, \"m\": 12345678901234567890}}")
                    .post(LOGS)
                    .then()
                    .statusCode(201)
                    .extract()
                    .path("id");
            // Requests within the interval share a checkpoint.
            Await.until(
                    "the log has the record",
                    () -> reader.get(LOGS + "/" + id + "/proof").statusCode() == 200);
            ProvedRecord proved = reader.prove(id);
            assertThat(proved.record().sequenceId()).isEqualTo(n);
            assertThat(proved.record().fields()).containsEntry("metadata", "{\"m\":12345678901234567890,\"n\":1.10}");
        }
    }

    @Test
    void aWalkOfProvedPagesLeavesNothingOutAndEndsWithItsCheckpoint() throws Exception {
        append(700);
        LogReader reader = new LogReader(project);
        Checkpoint pinned = reader.next();
        assertThat(pinned.size()).isEqualTo(700);
        append(300);
        for (int limit : new int[] {1000, 256, 93}) {
            assertThat(reader.walk(pinned, limit)).hasSize(700);
        }
        assertThat(reader.next().size()).isGreaterThanOrEqualTo(700);
    }

    @Test
    void anEndedLogKeepsItsTilesUnlessItsTreeWasRebuilt() throws Exception {
        append(300);
        LogReader ended = new LogReader(project);
        Await.until("all are in the log", () -> ended.next().size() == 300);
        Checkpoint last = ended.next();
        byte[] tile = bytes(ended, "/tile/0/000");
        byte[] bundle = bytes(ended, "/tile/entries/001.p/44");
        LogCommands.nextEpoch(TestDatabase.url(), project.id(), false);
        append(300);
        Await.until(
                "the next log has begun", () -> new LogReader(project).next().size() == 600);
        assertThat(ended.next()).isEqualTo(last);
        String successor = "</v1/project-logs/log/2/checkpoint>; rel=\"successor-version\"";
        assertThat(ended.get(ended.prefix() + "/checkpoint").header("Link")).isEqualTo(successor);
        assertThat(ended.get(LOGS + "/log/2/checkpoint").header("Link")).isNull();
        assertThat(bytes(ended, "/tile/0/000")).isEqualTo(tile);
        assertThat(bytes(ended, "/tile/entries/001.p/44")).isEqualTo(bundle);
        assertProblem(ended.get(ended.prefix() + "/tile/0/001.p/45"), ProblemType.NOT_FOUND);

        log.run(
                "set local session_replication_role = replica",
                "update annals.audit_record set action = 'another' where id = (select id from annals.feed where project_id = '"
                        + project.id() + "' and sequence_id = 7)");
        LogCommands.nextEpoch(TestDatabase.url(), project.id(), true);
        LogReader anew = new LogReader(project);
        Await.until("the tree is made anew", () -> anew.next().size() == 600);
        assertThat(anew.prefix()).endsWith("/log/3");
        assertProblem(ended.get(ended.prefix() + "/tile/0/000"), ProblemType.NOT_FOUND);
    }

    @Test
    void anEmptyLogIsProvedToo() {
        LogReader reader = new LogReader(project);
        assertThat(reader.next().root()).isEqualTo(Hash.EMPTY_TREE);
        assertThat(reader.walk(reader.next(), 10)).isEmpty();
    }

    /** As a client of tlog-tiles, recomputes the root from the entry bundles and from the tiles. */
    @Test
    void tilesAndEntryBundlesLeadToTheRoot() throws Exception {
        append(256 * 2 + 17);
        LogReader reader = new LogReader(project);
        Checkpoint checkpoint = reader.next();
        CompactRange ofEntries = CompactRange.at(0);
        CompactRange ofTiles = CompactRange.at(0);
        List<Hash> roots = new ArrayList<>();
        for (String tile : List.of("000", "001", "002.p/17")) {
            CompactRange one = CompactRange.at(0);
            byte[] bundle = bytes(reader, "/tile/entries/" + tile);
            byte[] hashes = bytes(reader, "/tile/0/" + tile);
            assertThat(bundle.length / 34).isEqualTo(hashes.length / 32);
            for (int at = 0; at < hashes.length / 32; at++) {
                assertThat(bundle[at * 34] * 256 + bundle[at * 34 + 1]).isEqualTo(32);
                ofEntries.append(Hash.at(bundle, at * 34 + 2).leaf());
                ofTiles.append(Hash.at(hashes, at * 32));
                one.append(Hash.at(hashes, at * 32));
            }
            roots.add(one.root());
        }
        assertThat(ofEntries.root()).isEqualTo(checkpoint.root());
        assertThat(ofTiles.root()).isEqualTo(checkpoint.root());
        byte[] above = bytes(reader, "/tile/1/000.p/2");
        assertThat(List.of(Hash.at(above, 0), Hash.at(above, 32))).isEqualTo(roots.subList(0, 2));
        // A full tile, narrower
        assertThat(bytes(reader, "/tile/0/001.p/3")).hasSize(96);
    }

    private byte[] bytes(LogReader reader, String path) {
        Response answer = reader.get(reader.prefix() + path);
        answer.then()
                .statusCode(200)
                .contentType("application/octet-stream")
                .header("Cache-Control", "private, max-age=31536000, immutable");
        return answer.asByteArray();
    }

    @Test
    void invalidRequestsAreRefused() throws Exception {
        append(10);
        LogReader reader = new LogReader(project);
        reader.next();
        String prefix = reader.prefix();
        for (String path : List.of(
                "/tile/0/1", "/tile/8/000", "/tile/0/000.p/256", "/tile/entries/x000/000", "/tile/x/000", "/nothing")) {
            assertProblem(reader.get(prefix + path), ProblemType.NOT_FOUND);
        }
        assertProblem(reader.get(LOGS + "/log/2/checkpoint"), ProblemType.NOT_FOUND);
        assertProblem(reader.get(LOGS + "/log/0/checkpoint"), ProblemType.NOT_FOUND);
        for (String query : List.of("witnesses=x", "witnesses=-1", "witnesses=01", "witnesses=17", "witness=1")) {
            assertProblem(reader.get(prefix + "/checkpoint?" + query), ProblemType.INVALID_PARAMETER);
        }
        String id =
                log.text("select id from annals.feed where sequence_id = 1 and project_id = '" + project.id() + "'");
        for (String query : List.of("witnesses=x", "witnesses=17", "size=1")) {
            assertProblem(reader.get(LOGS + "/" + id + "/proof?" + query), ProblemType.INVALID_PARAMETER);
        }
        assertThat(reader.get(LOGS + "/" + id + "/proof?witnesses=0").statusCode())
                .isEqualTo(200);
        assertProblem(reader.get(LOGS + "/" + id + "/proof?witnesses=1"), ProblemType.LOG_BEHIND);
        assertThat(reader.get(prefix + "/checkpoint?witnesses=0").statusCode()).isEqualTo(200);
        Response uncosigned = reader.get(prefix + "/checkpoint?witnesses=1");
        assertProblem(uncosigned, ProblemType.LOG_BEHIND);
        assertThat(uncosigned.header("Retry-After")).isNotNull();
        assertProblem(reader.get(prefix + "/tile/0/000"), ProblemType.LOG_BEHIND);
        assertProblem(reader.get(LOGS + "?proof=11"), ProblemType.LOG_BEHIND);
        assertProblem(reader.get(LOGS + "/log/consistency?from=0&to=11"), ProblemType.LOG_BEHIND);
        for (String query : List.of(
                "proof=x",
                "proof=01",
                "proof=-1",
                "proof=10&action=a",
                "proof=10&order=desc",
                "proof=10&wait=1",
                "proof=5&cursor=6")) {
            assertProblem(reader.get(LOGS + "?" + query), ProblemType.INVALID_PARAMETER);
        }
        assertProblem(reader.get(LOGS + "/stream?proof=10"), ProblemType.INVALID_PARAMETER);
        for (String query : List.of("", "?from=1", "?from=2&to=1", "?from=x&to=1", "?from=0&to=1&also=1")) {
            assertProblem(reader.get(LOGS + "/log/consistency" + query), ProblemType.INVALID_PARAMETER);
        }
        assertProblem(reader.get(LOGS + "/00000000-0000-0000-0000-000000000000/proof"), ProblemType.NOT_FOUND);
        assertProblem(reader.get(LOGS + "/log/proof"), ProblemType.NOT_FOUND);
        assertProblem(reader.get(LOGS + "/log?size=1"), ProblemType.INVALID_PARAMETER);
    }

    /** Readers share the most expensive work that they can cause: hashing the end of a log. */
    @Test
    void eachRecordOfTheLastTileIsHashedOnceForAllReaders() throws Exception {
        append(256 + 200);
        LogReader reader = new LogReader(project);
        long size = reader.next().size();
        double before = hashed();
        List<String> paths = new ArrayList<>();
        for (int n = 0; n < 20; n++) {
            paths.add(reader.prefix() + "/tile/0/001.p/" + (200 - n));
            paths.add(reader.prefix() + "/tile/entries/001.p/" + (181 + n));
            paths.add(LOGS + "?proof=" + size + "&limit=" + (n + 1));
            paths.add(LOGS + "/log/consistency?from=" + n + "&to=" + size);
        }
        HttpClient client = HttpClient.newHttpClient();
        List<CompletableFuture<HttpResponse<Void>>> answers = new ArrayList<>();
        for (String path : paths) {
            HttpRequest request = HttpRequest.newBuilder(
                            URI.create(RestAssured.baseURI + ":" + RestAssured.port + path))
                    .header("Authorization", "Bearer " + project.token())
                    .build();
            answers.add(client.sendAsync(request, BodyHandlers.discarding()));
        }
        for (CompletableFuture<HttpResponse<Void>> answer : answers) {
            assertThat(answer.get().statusCode()).isEqualTo(200);
        }
        // As many as the widest request needs, not as many as all requests together.
        assertThat(hashed() - before).isEqualTo(200);
    }

    private double hashed() {
        return metrics.get("annals.log.hashed.records").counter().count();
    }

    /** As after a backup was restored under a running service. */
    @Test
    void aCachedTileThatNoLongerMatchesIsReadAgain() throws Exception {
        append(256 + 3);
        LogReader reader = new LogReader(project);
        Checkpoint checkpoint = reader.next();
        List<Hash> wrong = Collections.nCopies(256, Hash.EMPTY_TREE);
        tiles.put(project.id(), false, 0, 0, wrong);
        tiles.put(project.id(), false, 0, 1, wrong);
        assertThat(reader.walk(checkpoint, 100)).hasSize(259);
        assertThat(reader.next().size()).isGreaterThanOrEqualTo(259);
    }

    /** Compares all operations with the contract. */
    @Test
    void everyOperationAnswersAsDescribed() throws Exception {
        append(300);
        new LogReader(project).next();
        String id =
                log.text("select id from annals.feed where sequence_id = 1 and project_id = '" + project.id() + "'");
        for (String path : List.of(
                LOGS + "/log",
                LOGS + "/log/consistency?from=1&to=300",
                LOGS + "/log/1/checkpoint",
                LOGS + "/log/1/tile/0/000",
                LOGS + "/log/1/tile/entries/000",
                LOGS + "/" + id + "/proof",
                LOGS + "?proof=300&limit=7")) {
            project.request().get(path).then().statusCode(200);
        }
    }

    private static void assertProblem(Response answer, ProblemType type) {
        ProblemAssertions.assertProblem(
                answer.then().extract(), type.status(), type.uri().replace("urn:annals:problem:", ""));
    }

    private void append(int count) throws Exception {
        try (Connection connection = log.connect()) {
            RandomRecords.append(connection, project.id(), count, random);
            connection.commit();
        }
    }
}
