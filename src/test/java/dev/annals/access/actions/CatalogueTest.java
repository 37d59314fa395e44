package dev.annals.access.actions;

import static dev.annals.ProblemAssertions.assertProblem;
import static dev.annals.ProblemAssertions.pointers;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.empty;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.nullValue;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.edges.contract.ContractFilter;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import jakarta.inject.Inject;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** An administrator says what the actions of a project mean. */
@QuarkusTest
class CatalogueTest {

    private static final String LOGIN = """
            {"name": "user.login", "title": "Sign-in", "description": "A person signs in.", "category": "Access", "severity": "low",
             "ocsf_class": 3002, "metadata_schema": {"required": ["method"]}}
            """;

    @Inject
    Catalogues catalogues;

    private final AuditLogFixture log = new AuditLogFixture();
    private Project project;
    private String path;

    @BeforeEach
    void makeProject() {
        project = log.newProject("read", "write");
        path = "/v1/projects/" + project.id() + "/actions";
    }

    @AfterEach
    void everythingFollowsFromItsEvents() throws Exception {
        log.checkFeed(project.id());
        assertThat(log.texts("select finding from annals.administration_differences() where finding like '%cat%'"
                        + " or finding like '%action%'"))
                .isEmpty();
    }

    private static RequestSpecification admin() {
        return wrongAdmin().filter(ContractFilter.ofRequestsAndAnswers());
    }

    private static RequestSpecification wrongAdmin() {
        return given().header("Authorization", "Bearer " + AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json");
    }

    private ExtractableResponse<Response> set(String catalogue) {
        return admin().body(catalogue).put(path).then().statusCode(200).extract();
    }

    private ExtractableResponse<Response> wrong(String at, String body) {
        return wrongAdmin().body(body).put(path + at).then().extract();
    }

    @Test
    void aProjectWithoutACatalogueTakesAnyAction() {
        project.request()
                .get("/v1/actions")
                .then()
                .statusCode(200)
                .body("unknown_actions", equalTo("accept"))
                .body("ill_formed_metadata", equalTo("accept"))
                .body("actions", empty());
    }

    @Test
    void readersOfTheProjectSeeTheWholeCatalogueAndThoseOfOthersDoNot() {
        set("{\"unknown_actions\": \"mark\", \"actions\": [" + LOGIN + ", {\"name\": \"a\"}]}");
        project.request()
                .get("/v1/actions")
                .then()
                .statusCode(200)
                .body("unknown_actions", equalTo("mark"))
                .body("ill_formed_metadata", equalTo("accept"))
                .body("actions.name", contains("a", "user.login"))
                .body("actions[0].title", nullValue())
                .body("actions[0].metadata_schema", nullValue())
                .body("actions[1].title", equalTo("Sign-in"))
                .body("actions[1].severity", equalTo("low"))
                .body("actions[1].ocsf_class", equalTo(3002))
                .body("actions[1].metadata_schema.required", contains("method"));
        log.newProject("read").request().get("/v1/actions").then().body("actions", empty());
        given().auth()
                .preemptive()
                .oauth2(log.newToken(project.id(), "write"))
                .get("/v1/actions")
                .then()
                .statusCode(403);
        // A token of the project administers nothing.
        project.wrongRequest().get(path).then().statusCode(403);
        project.wrongRequest()
                .contentType("application/json")
                .body("{}")
                .put(path)
                .then()
                .statusCode(403);
    }

    @Test
    void oneActionIsSetAndDeletedAloneAndAWholeCatalogueReplacesAll() {
        admin().body("{\"title\": \"A\"}")
                .put(path + "/a")
                .then()
                .statusCode(200)
                .body("title", equalTo("A"));
        admin().body("{\"title\": \"B\"}")
                .put(path + "/{action}", "b+c ü")
                .then()
                .statusCode(200);
        admin().body("{\"category\": \"x\"}")
                .put(path + "/a")
                .then()
                .statusCode(200)
                .body("title", nullValue())
                .body("category", equalTo("x"));
        admin().get(path).then().statusCode(200).body("actions.name", contains("a", "b+c ü"));
        admin().delete(path + "/a").then().statusCode(204);
        assertProblem(admin().delete(path + "/a").then().extract(), 404, "not-found");
        assertProblem(admin().get(path + "/a").then().extract(), 404, "not-found");
        set("{\"actions\": [" + LOGIN + "]}");
        admin().get(path).then().body("actions.name", contains("user.login"));
        admin().get(path + "/user.login").then().statusCode(200).body("title", equalTo("Sign-in"));
        set("{}");
        admin().get(path).then().body("actions", empty());
    }

    @Test
    void eachChangeIsAnEventWithTheStateBeforeAndAfterAndNoChangeIsNone() throws Exception {
        String catalogue = "{\"unknown_actions\": \"refuse\", \"actions\": [" + LOGIN + ", {\"name\": \"a\"}]}";
        set(catalogue);
        set(catalogue);
        set("{\"unknown_actions\": \"refuse\", \"actions\": [" + LOGIN.replace("Sign-in", "Login") + "]}");
        assertThat(log.texts("""
                        select concat_ws(' ', action, subject_name, metadata #>> '{before,title}', metadata #>> '{before,unknown_actions}',
                          '->', metadata #>> '{after,title}', metadata #>> '{after,unknown_actions}')
                        from annals.feed
                        where project_id = annals.administration() and subject_id = '%s' and subject_type in ('catalogue', 'action')
                          and actor_type = 'setting' and ip_address is not null
                        order by sequence_id
                        """.formatted(project.id())))
                .containsExactly(
                        "annals.catalogue.set -> refuse",
                        "annals.action.set user.login -> Sign-in",
                        "annals.action.set a ->",
                        "annals.action.set user.login Sign-in -> Login",
                        "annals.action.delete a ->");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            {"actions": {}} | /actions
            {"actions": [1]} | /actions/0
            {"actions": [{"title": "a"}]} | /actions/0/name
            {"actions": [{"name": "a"}, {"name": "a"}]} | /actions/1/name
            {"actions": [{"name": "a", "titel": "a"}]} | /actions/0/titel
            {"actions": [{"name": "a", "severity": "loud"}]} | /actions/0/severity
            {"actions": [{"name": "a", "ocsf_class": 2001}]} | /actions/0/ocsf_class
            {"actions": [{"name": "a", "ocsf_class": "3002"}]} | /actions/0/ocsf_class
            {"actions": [{"name": "a", "metadata_schema": {"properties": {"b": {"$ref": "http://127.0.0.1:9/"}}}}]} | /actions/0/metadata_schema/properties/b/$ref
            {"unknown_actions": "reject"} | /unknown_actions
            {"ill_formed_metadata": 1} | /ill_formed_metadata
            """)
    void aFaultInACatalogueIsNamedAndNothingIsSet(String catalogue, String pointer) {
        ExtractableResponse<Response> answer = wrong("", catalogue);
        assertProblem(answer, 422, "invalid-body");
        assertThat(pointers(answer)).contains(pointer);
        admin().get(path).then().body("actions", empty());
    }

    @Test
    void aCatalogueHasLimits() {
        assertThat(set(actions(CatalogueRequest.MAX_ACTIONS, 1)).<Integer>path("actions.size()"))
                .isEqualTo(CatalogueRequest.MAX_ACTIONS);
        assertProblem(wrong("/one.more", "{}"), 409, "too-many-actions");
        assertProblem(wrong("", actions(CatalogueRequest.MAX_ACTIONS + 1, 1)), 422, "invalid-body");
        assertProblem(wrong("", actions(66, SchemaLimits.MAX_BYTES)), 409, "too-many-actions");
        assertProblem(wrong("", actions(150, SchemaLimits.MAX_BYTES)), 413, "body-too-large");
        assertProblem(wrong("/" + "x".repeat(256), "{}"), 400, "invalid-parameter");
        assertProblem(wrong("/a", "{\"title\": \"" + "x".repeat(256) + "\"}"), 422, "invalid-body");
        // Nothing of what was refused is stored.
        assertThat(admin().get(path).<Integer>path("actions.size()")).isEqualTo(CatalogueRequest.MAX_ACTIONS);
    }

    private static String actions(int number, int schemaBytes) {
        String schema = schemaBytes < 20 ? "{}" : "{\"title\":\"" + "x".repeat(schemaBytes - 12) + "\"}";
        return IntStream.range(0, number)
                .mapToObj(i -> "{\"name\": \"a%d\", \"metadata_schema\": %s}".formatted(i, schema))
                .collect(Collectors.joining(",", "{\"actions\": [", "]}"));
    }

    /** Schemas may cost a second per record. */
    @Test
    void oneProjectComparesItsRecordsOnHalfOfTheProcessorsAlone() {
        CountDownLatch end = new CountDownLatch(1);
        AtomicInteger begun = new AtomicInteger();
        IntToLongFunction slow = at -> {
            begun.incrementAndGet();
            try {
                end.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return 1;
        };
        List<CompletableFuture<Void>> busy = Stream.generate(
                        () -> catalogues.inTurns(project.id(), 1, slow).subscribeAsCompletionStage())
                .limit(Catalogues.SHARE + 10L)
                .toList();
        try {
            catalogues.inTurns(UUID.randomUUID(), 3, at -> 1).await().atMost(Duration.ofSeconds(20));
            assertThat(begun.get()).isLessThanOrEqualTo(Catalogues.SHARE);
        } finally {
            end.countDown();
        }
        CompletableFuture.allOf(busy.toArray(CompletableFuture[]::new))
                .orTimeout(20, TimeUnit.SECONDS)
                .join();
        assertThat(begun.get()).isEqualTo(Catalogues.SHARE + 10);
    }
}
