package dev.annals.access.openid;

import static dev.annals.Tools.need;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.eclipse.microprofile.config.ConfigProvider;

/**
 * A real OpenID provider in a process of its own: npm's oidc-provider, as src/test/openid-provider/provider.mjs sets it up.
 *
 * @param issuer its address
 */
public record OpenIdProvider(String issuer) {

    /** The audience of its tokens. */
    public static final String AUDIENCE = "urn:annals:test";

    private static final Path SOURCE = Path.of("src/test/openid-provider");
    private static final Path INSTALLED = Path.of("target/openid-provider").toAbsolutePath();
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final ObjectMapper JSON = new ObjectMapper();

    /** A provider that was started, to be stopped. */
    public record Started(OpenIdProvider provider, Process process) implements AutoCloseable {

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }

    /** That of the test's profile; without it, the test is skipped. */
    public static OpenIdProvider needed() throws Exception {
        Optional<String> issuer = ConfigProvider.getConfig().getOptionalValue("annals.openid.issuer", String.class);
        need(issuer.isPresent(), "Node 20 or newer, with npm and its registry");
        OpenIdProvider provider = new OpenIdProvider(issuer.orElseThrow());
        provider.become("up");
        return provider;
    }

    /** Starts one, if Node is here and its registry can be reached; it ends with this process. */
    public static Optional<Started> start(String redirectUri) throws Exception {
        return start(Map.of("REDIRECT_URI", redirectUri));
    }

    /** The same where the viewer has a secret for the provider. */
    public static Optional<Started> start(String redirectUri, String clientSecret) throws Exception {
        return start(Map.of("REDIRECT_URI", redirectUri, "CLIENT_SECRET", clientSecret));
    }

    private static Optional<Started> start(Map<String, String> environment) throws Exception {
        if (!install()) {
            return Optional.empty();
        }
        ProcessBuilder builder = new ProcessBuilder("node", "provider.mjs")
                .directory(INSTALLED.toFile())
                .redirectError(INSTALLED.resolve("provider.log").toFile());
        builder.environment().putAll(environment);
        Process process = builder.start();
        BufferedReader printed =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        String line = printed.readLine();
        while (line != null && !line.startsWith("READY ")) {
            line = printed.readLine();
        }
        if (line == null) {
            throw new IOException("the provider did not start: see " + INSTALLED.resolve("provider.log"));
        }
        return Optional.of(new Started(new OpenIdProvider(line.substring("READY ".length())), process));
    }

    /** By the hashes in package-lock.json, once. */
    private static synchronized boolean install() throws Exception {
        Path complete = INSTALLED.resolve("complete");
        Path lock = SOURCE.resolve("package-lock.json");
        Files.createDirectories(INSTALLED);
        Files.copy(
                SOURCE.resolve("provider.mjs"), INSTALLED.resolve("provider.mjs"), StandardCopyOption.REPLACE_EXISTING);
        if (Files.exists(complete) && Files.mismatch(complete, lock) == -1) {
            return true;
        }
        for (String file : List.of("package.json", "package-lock.json")) {
            Files.copy(SOURCE.resolve(file), INSTALLED.resolve(file), StandardCopyOption.REPLACE_EXISTING);
        }
        try {
            Process npm = new ProcessBuilder(
                            "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
                    .directory(INSTALLED.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(INSTALLED.resolve("install.log").toFile())
                    .start();
            if (!npm.waitFor(300, TimeUnit.SECONDS) || npm.exitValue() != 0) {
                npm.destroyForcibly();
                return false;
            }
        } catch (IOException e) {
            return false; // there is no npm
        }
        Files.copy(lock, complete, StandardCopyOption.REPLACE_EXISTING);
        return true;
    }

    /** Signs a token: by default a valid one for jane, for five minutes. provider.mjs defines the fields. */
    public String mint(Map<String, ?> wishes) throws Exception {
        return control("mint", wishes).path("token").asText();
    }

    /** A token with these claims. */
    public String tokenOf(Map<String, ?> claims) throws Exception {
        return mint(Map.of("claims", claims));
    }

    /** The token that a program gets for its secret. */
    public String programToken() throws Exception {
        HttpResponse<String> answer = HTTP.send(
                HttpRequest.newBuilder(URI.create(issuer + "/token"))
                        .header(
                                "Authorization",
                                "Basic "
                                        + Base64.getEncoder()
                                                .encodeToString("a-program:secret-of-the-tests"
                                                        .getBytes(StandardCharsets.UTF_8)))
                        .header("Content-Type", "application/x-www-form-urlencoded")
                        .POST(HttpRequest.BodyPublishers.ofString("grant_type=client_credentials"))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        return JSON.readTree(answer.body()).path("access_token").asText();
    }

    /** Sets its way of answering: {@code up}, {@code failing}, {@code silent}, {@code endless} or {@code redirecting}. */
    public void become(String state) throws Exception {
        control("state", Map.of("state", state));
    }

    /** Replaces its keys. */
    public void rotate() throws Exception {
        control("rotate", Map.of());
    }

    /** The number of fetches of its keys. */
    public int keyFetches() throws Exception {
        return control("fetches", Map.of()).path("count").asInt();
    }

    private JsonNode control(String what, Map<String, ?> body) throws Exception {
        HttpResponse<String> answer = HTTP.send(
                HttpRequest.newBuilder(URI.create(issuer + "/test/" + what))
                        .POST(HttpRequest.BodyPublishers.ofString(JSON.writeValueAsString(body)))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 200) {
            throw new IOException(answer.body());
        }
        return JSON.readTree(answer.body());
    }
}
