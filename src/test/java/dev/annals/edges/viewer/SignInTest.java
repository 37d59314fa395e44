package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.equalTo;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserContext;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.Cookie;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Slow;
import dev.annals.access.openid.OpenIdTest;
import dev.annals.access.openid.WithOpenId;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import io.restassured.response.Response;
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** People sign in to the viewer at a real provider, in a real browser, and see what is open to them and nothing else. */
@Slow
@QuarkusTest
@TestProfile(WithOpenId.class)
class SignInTest extends OpenIdTest {

    private static Chromium chromium;

    @TestHTTPResource("/")
    URI service;

    @BeforeAll
    static void startBrowser() {
        chromium = Chromium.start();
    }

    @AfterAll
    static void stopBrowser() {
        if (chromium != null) {
            chromium.close();
        }
    }

    private static void append(Project project, String action) {
        project.request()
                .contentType("application/json")
                .body("{\"action\": \"" + action + "\"}")
                .post(AuditLogFixture.LOGS)
                .then()
                .statusCode(201);
    }

    private static void signInAtTheProvider(Page page, String login) {
        page.fill("input[name=login]", login);
        page.fill("input[name=password]", "any");
        page.click("button[type=submit]");
        // The provider asks whether the viewer may know who that is.
        page.click("button[type=submit]");
    }

    private BrowserContext open() {
        return chromium.context(new Browser.NewContextOptions().setViewportSize(1440, 900));
    }

    @Test
    void aReaderSignsInChoosesAProjectAndSignsOut() throws Exception {
        Project shop = log.newProject();
        Project other = log.newProject();
        Project secret = log.newProject();
        append(shop, "seen_in_the_shop");
        append(other, "seen_in_the_other");
        append(secret, "seen_by_nobody");
        Project given = log.newProject();
        append(given, "seen_with_a_token");
        grant(shop.id().toString(), "groups", "shop-readers", "read");
        grant(other.id().toString(), "sub", "jane", "read", "write");
        grant(secret.id().toString(), "sub", "jane", "write");
        try (BrowserContext context = open()) {
            Page page = context.newPage();
            // The filters of the address are still there when one comes back.
            page.navigate(service + "#action=seen_in_the_shop");
            page.click("#provider-sign-in");
            signInAtTheProvider(page, "jane");

            assertThat(page.locator("#rows")).containsText("seen_in_the_shop");
            assertThat(page.locator("#who-name")).hasText("jane");
            assertThat(page.url()).isEqualTo(service + "#action=seen_in_the_shop");
            page.getByLabel("Remove the filter Action").click();
            page.click("#project");
            assertThat(page.locator("#projects-list li")).hasCount(2);
            page.locator("#projects-list .choice:not([aria-current=true])").click();
            assertThat(page.locator("#rows")).containsText("seen_in_the_other");
            assertThat(page).hasURL(service + "#project=" + other.id());

            // Beside her granted projects, one for which she has a token.
            page.click("#project");
            page.fill("#project-token", given.token());
            page.keyboard().press("Enter");
            assertThat(page.locator("#rows")).containsText("seen_with_a_token");
            page.goBack();
            assertThat(page.locator("#rows")).containsText("seen_in_the_other");
            page.click("#project");
            assertThat(page.locator("#projects-list li")).hasCount(3);
            page.click("#close-projects");

            Cookie session = context.cookies().stream()
                    .filter(cookie -> cookie.name.equals("annals-session"))
                    .findFirst()
                    .orElseThrow();
            assertThat(session.httpOnly).isTrue();
            assertThat(session.sameSite.name()).isEqualTo("STRICT");
            assertThat((String) page.evaluate("document.cookie")).isEmpty();
            assertThat((String) page.evaluate("JSON.stringify(sessionStorage)")).doesNotContain("eyJ");
            asWithCookie(session.value, other, secret, shop);

            page.reload();
            assertThat(page.locator("#rows")).containsText("seen_in_the_other");
            assertThat(page.locator("#who-name")).hasText("jane");
            page.click("#sign-out");
            assertThat(page.locator("#sign-in")).isVisible();
            assertThat(page.locator("#who")).isHidden();
            page.waitForCondition(() -> context.cookies(service.toString()).stream()
                    .noneMatch(cookie -> cookie.name.equals("annals-session")));
            page.reload();
            assertThat(page.locator("#provider-sign-in")).isVisible();
            assertThat(page.locator("#still-open")).isHidden();
            assertThat((String) page.evaluate("JSON.stringify(sessionStorage)")).doesNotContain("annals_");
        }
    }

    /** The cookie opens reading, and nothing else, and counts as no bearer token. */
    private static void asWithCookie(String value, Project other, Project secret, Project shop) {
        given().cookie("annals-session", value)
                .header("Annals-Project", other.id())
                .contentType("application/json")
                .body("{\"action\": \"a\"}")
                .post(AuditLogFixture.LOGS)
                .then()
                .statusCode(403);
        given().cookie("annals-session", value)
                .header("Annals-Project", secret.id())
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(403);
        given().cookie("annals-session", value)
                .header("Annals-Project", shop.id())
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(200);
        with(value)
                .header("Annals-Project", shop.id())
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(401);
    }

    @Test
    void theSessionOfAnAdministratorReadsAloneAlsoOnThePagesOfTheAdministration() throws Exception {
        grant("annals", "sub", "ada", "admin");
        try (BrowserContext context = open()) {
            Page page = context.newPage();
            page.navigate(service.toString());
            page.click("#provider-sign-in");
            signInAtTheProvider(page, "ada");
            assertThat(page.locator("#project-name")).hasText("annals");
            assertThat(page.locator("#administration")).isHidden();
            page.navigate(service + "admin.html#projects");
            page.getByLabel("Name", new Page.GetByLabelOptions().setExact(true)).fill("made by a session");
            page.keyboard().press("Enter");
            assertThat(page.locator("form .error[role=alert]").first())
                    .hasText("This operation needs a token with the scope \"admin\".");
        }
    }

    @Test
    void aSignInWithoutAGrantIsExplained() {
        try (BrowserContext context = open()) {
            Page page = context.newPage();
            page.navigate(service.toString());
            page.click("#provider-sign-in");
            signInAtTheProvider(page, "nobody");
            assertThat(page.locator("#sign-in-error")).containsText("Ask the administrator");
        }
    }

    /** Every part of the way back is bound to the browser that began, and it leads to the viewer alone. */
    @Test
    void aCallbackOfASignInThatWasNotBegunHereGivesNoSession() {
        Response begun = given().redirects().follow(false).get("/v1/session/sign-in");
        assertThat(begun.statusCode()).isEqualTo(303);
        String memory = begun.cookie("annals-sign-in");
        String state = memory.substring(0, 43);
        assertThat(begun.header("Location"))
                .startsWith(provider.issuer() + "/auth?")
                .contains("code_challenge_method=S256", "state=" + state, "nonce=" + memory.substring(44, 87))
                .doesNotContain(memory.substring(88));
        String good = "?code=c&state=" + state;
        String other = memory.startsWith("x") ? "y" : "x";
        for (List<String> wrong : List.of(
                List.of("?code=c", "", "unknown"),
                List.of(good, "", "unknown"),
                List.of(good, other + memory.substring(1), "unknown"),
                List.of("?code=c&state=" + other + state.substring(1), memory, "unknown"),
                List.of("?error=access_denied&state=" + state, memory, "refused"),
                List.of(good + "&iss=https://elsewhere.example.org", memory, "refused"),
                List.of(good, memory, "bad"),
                List.of(good + "&redirect_uri=https://evil.example.org", memory, "bad"))) {
            Response back = given().redirects()
                    .follow(false)
                    .cookie("annals-sign-in", wrong.get(1))
                    .get("/v1/session/callback" + wrong.get(0));
            assertThat(back.statusCode()).as(wrong.toString()).isEqualTo(303);
            assertThat(back.header("Location")).as(wrong.toString()).isEqualTo(service + "#sign-in=" + wrong.get(2));
            assertThat(back.cookie("annals-session")).isNull();
        }
    }

    /** The nonce ties the ID token to this sign-in, and the verifier the code: each is missed by itself. */
    @ParameterizedTest
    @ValueSource(ints = {44, 88})
    void aSignInThatIsNotTheBrowsersOwnDoesNotHold(int changed) {
        try (BrowserContext context = open()) {
            Page page = context.newPage();
            page.navigate(service.toString());
            page.click("#provider-sign-in");
            page.waitForSelector("input[name=login]");
            String memory = context.cookies(service.toString()).stream()
                    .filter(cookie -> cookie.name.equals("annals-sign-in"))
                    .findFirst()
                    .orElseThrow()
                    .value;
            String other = memory.substring(0, changed)
                    + (memory.charAt(changed) == 'x' ? 'y' : 'x')
                    + memory.substring(changed + 1);
            context.addCookies(List.of(new Cookie("annals-sign-in", other).setUrl(service.toString())));
            signInAtTheProvider(page, "jane");
            assertThat(page.locator("#sign-in-error")).containsText("does not hold");
            assertThat(context.cookies(service.toString())).noneMatch(cookie -> cookie.name.equals("annals-session"));
        }
    }

    @Test
    void aSignInIsAnsweredWhileTheProviderIsAway() throws Exception {
        Response begun = given().redirects().follow(false).get("/v1/session/sign-in");
        String memory = begun.cookie("annals-sign-in");
        provider.become("failing");
        Response back = given().redirects()
                .follow(false)
                .cookie("annals-sign-in", memory)
                .get("/v1/session/callback?code=c&state=" + memory.substring(0, 43));
        assertThat(back.header("Location")).isEqualTo(service + "#sign-in=away");
    }

    /** Tokens of the provider for the viewer are checked as strictly as bearer tokens. */
    @Test
    void aCookieThatIsNoTokenOfTheViewerOpensNothing() throws Exception {
        Project project = log.newProject();
        String subject = somebody();
        grant(project.id().toString(), "sub", subject, "read");
        Map<String, ?> good = Map.of("sub", subject, "aud", "annals-viewer");
        assertThat(withCookie(provider.tokenOf(good))).isEqualTo(200);
        for (Map<String, ?> alsoGood : List.of(
                Map.of("aud", List.of("annals-viewer")),
                Map.of("aud", List.of("annals-viewer", "x"), "azp", "annals-viewer"))) {
            Map<String, Object> claims = new HashMap<>(alsoGood);
            claims.put("sub", subject);
            assertThat(withCookie(provider.tokenOf(claims)))
                    .as(alsoGood.toString())
                    .isEqualTo(200);
        }
        given().cookie("annals-session", provider.tokenOf(good))
                .get("/v1/session")
                .then()
                .statusCode(200)
                .body("subject", equalTo(subject))
                .body("name", equalTo(null));
        Map<String, Object> named = new HashMap<>(good);
        named.putAll(Map.of("name", "Jane Doe", "email", "jane@example.org"));
        given().cookie("annals-session", provider.tokenOf(named))
                .get("/v1/session")
                .then()
                .statusCode(200)
                .body("name", equalTo("Jane Doe"))
                // The provider has not verified it.
                .body("email", equalTo(null));
        named.put("email_verified", true);
        given().cookie("annals-session", provider.tokenOf(named))
                .get("/v1/session")
                .then()
                .body("email", equalTo("jane@example.org"));
        for (Map<String, ?> bad : List.of(
                Map.of("sub", subject),
                Map.of("sub", subject, "aud", List.of("annals-viewer", "x"), "azp", "x"),
                Map.of("sub", subject, "aud", List.of("annals-viewer", "x")),
                Map.of("sub", subject, "aud", List.of("annals-viewer", "x"), "azp", List.of("annals-viewer")),
                Map.of("sub", subject, "aud", "annals-viewer", "iss", "https://elsewhere.example.org"),
                Map.of("sub", subject, "aud", "annals-viewer", "exp", 1_000_000_000))) {
            String token = provider.tokenOf(bad);
            assertThat(withCookie(token)).as(bad.toString()).isEqualTo(401);
            given().cookie("annals-session", token)
                    .get("/v1/session")
                    .then()
                    .statusCode(200)
                    .body("subject", equalTo(null));
        }
        assertThat(withCookie("x")).isEqualTo(401);
    }

    private static int withCookie(String token) {
        return given().cookie("annals-session", token).get(AuditLogFixture.LOGS).statusCode();
    }
}
