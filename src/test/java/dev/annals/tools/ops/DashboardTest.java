package dev.annals.tools.ops;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.ManagementPort;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class DashboardTest {

    private static final Pattern METRIC =
            Pattern.compile("\\b(?:http_server|sql_pool|process|system|jvm|annals)_[a-z_0-9]+");

    private final AuditLogFixture log = new AuditLogFixture();

    @Test
    void everyMetricOfTheDashboardAndOfTheAlertsIsOneOfTheService() throws Exception {
        // Shared parts register their metrics with the first use.
        Project project = log.newProject();
        project.request()
                .contentType("application/json")
                .body("{\"action\": \"measure\"}")
                .post("/v1/project-logs")
                .then()
                .statusCode(201);
        project.request().get("/v1/project-logs").then().statusCode(200);
        given().get("/v1/project-logs").then().statusCode(401);
        Set<String> asked = new TreeSet<>();
        JsonNode dashboard = new ObjectMapper()
                .readTree(Path.of("docker", "monitoring", "dashboard.json").toFile());
        for (JsonNode expression : dashboard.findValues("expr")) {
            asked.addAll(METRIC.matcher(expression.asText())
                    .results()
                    .map(found -> found.group())
                    .toList());
        }

        String alerts = Files.readString(Path.of("docker", "monitoring", "alerts.yml"));
        asked.addAll(METRIC.matcher(alerts.replaceAll("(?m)^ *#.*", ""))
                .results()
                .map(found -> found.group())
                .toList());

        Set<String> served = given().get(ManagementPort.uri("/metrics"))
                .asString()
                .lines()
                .filter(line -> !line.startsWith("#"))
                .map(line -> line.replaceAll("[{ ].*", ""))
                .collect(Collectors.toSet());

        assertThat(asked).hasSizeGreaterThan(5);
        assertThat(served).containsAll(asked);
        log.checkFeed(project.id());
    }
}
