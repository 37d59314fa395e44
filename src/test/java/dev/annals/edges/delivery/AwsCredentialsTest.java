package dev.annals.edges.delivery;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import com.sun.net.httpserver.HttpServer;
import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.edges.delivery.S3Credentials.Keys;
import dev.annals.edges.delivery.S3Credentials.NoCredentialsException;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The service finds its keys as AWS's SDKs do, asks each source as it requires, and renews keys before they end. */
@BesideTheService
class AwsCredentialsTest {

    private static final Keys STATIC = new Keys("AKIDSTATIC", "a-secret-key", null);

    @TempDir
    Path home;

    private final Map<String, String> environment = new HashMap<>();
    private volatile Instant now = Instant.parse("2026-03-01T09:30:00Z");
    private final Vertx vertx = Vertx.vertx();
    private AwsEndpoints aws;

    @BeforeEach
    void start() throws Exception {
        aws = new AwsEndpoints(() -> now);
        Files.createDirectories(home.resolve(".aws"));
        environment.put("HOME", home.toString());
        environment.put("AWS_EC2_METADATA_SERVICE_ENDPOINT", aws.url());
        environment.put("AWS_ENDPOINT_URL_STS", aws.url() + "/sts");
    }

    @AfterEach
    void stop() {
        aws.close();
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    private AwsCredentials credentials() {
        return new AwsCredentials(vertx, vertx.createHttpClient(), environment, () -> now);
    }

    private static Keys keys(AwsCredentials credentials) {
        return credentials.keys().await().atMost(Duration.ofSeconds(60));
    }

    private void assertNone(String... texts) {
        assertThatThrownBy(() -> keys(credentials()))
                .isInstanceOf(NoCredentialsException.class)
                .hasMessageContainingAll(texts);
    }

    private static Keys temporary(int session) {
        return new Keys(ObjectStore.ACCESS_KEY, ObjectStore.SECRET_KEY, "session-" + session);
    }

    private void useEnvironment() {
        environment.putAll(Map.of("AWS_ACCESS_KEY_ID", "AKIDENVIRONMENT", "AWS_SECRET_ACCESS_KEY", "a-secret-key"));
    }

    private Path useWebIdentity() throws Exception {
        Path file = Files.writeString(home.resolve("token"), aws.webToken + "\n");
        environment.putAll(Map.of(
                "AWS_WEB_IDENTITY_TOKEN_FILE",
                file.toString(),
                "AWS_ROLE_ARN",
                AwsEndpoints.ROLE,
                "AWS_ROLE_SESSION_NAME",
                "test"));
        return file;
    }

    private void useProfile(String text) throws Exception {
        Files.writeString(home.resolve(".aws/credentials"), text);
    }

    private void useContainer() {
        environment.put("AWS_CONTAINER_CREDENTIALS_FULL_URI", aws.url() + "/container");
        environment.put("AWS_CONTAINER_AUTHORIZATION_TOKEN", AwsEndpoints.CONTAINER_TOKEN);
    }

    /** Each source that is taken away makes the next one count. */
    @Test
    void theSourcesCountInTheOrderOfTheSdks() throws Exception {
        useEnvironment();
        useWebIdentity();
        useProfile("[default]\naws_access_key_id = AKIDSTATIC\naws_secret_access_key = a-secret-key\n");
        useContainer();
        assertThat(keys(credentials()).accessKey()).isEqualTo("AKIDENVIRONMENT");
        environment.keySet().removeAll(List.of("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"));
        assertThat(aws.asked).isEmpty();
        assertThat(keys(credentials())).isEqualTo(temporary(0));
        environment.remove("AWS_WEB_IDENTITY_TOKEN_FILE");
        assertThat(keys(credentials())).isEqualTo(STATIC);
        Files.delete(home.resolve(".aws/credentials"));
        assertThat(keys(credentials())).isEqualTo(temporary(1));
        environment.remove("AWS_CONTAINER_CREDENTIALS_FULL_URI");
        assertThat(keys(credentials())).isEqualTo(temporary(2));
        assertThat(aws.asked)
                .containsExactly(
                        "POST /sts/",
                        "GET /container",
                        "PUT /latest/api/token",
                        "GET /latest/meta-data/iam/security-credentials/",
                        "GET /latest/meta-data/iam/security-credentials/the-role");
        environment.put("AWS_EC2_METADATA_DISABLED", "true");
        assertNone("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_EC2_METADATA_DISABLED is true");
    }

    /** Otherwise the role of a machine could act for a pod whose own role is refused. */
    @Test
    void aSourceThatFailsIsNotPassedOver() throws Exception {
        useContainer();
        Path file = useWebIdentity();
        Files.writeString(file, "eyJ.forged");
        assertNone(AwsEndpoints.ROLE, "AccessDenied", "trust policy");
        Files.delete(file);
        assertNone("cannot be read", "AWS_WEB_IDENTITY_TOKEN_FILE");
        environment.remove("AWS_ROLE_ARN");
        assertNone("AWS_ROLE_ARN");
        environment.remove("AWS_WEB_IDENTITY_TOKEN_FILE");
        environment.put("AWS_PROFILE", "unknown");
        assertNone("unknown", "AWS_PROFILE");
        environment.put("AWS_ACCESS_KEY_ID", "AKIDALONE");
        assertNone("AWS_SECRET_ACCESS_KEY");
        assertThat(aws.asked).containsOnly("POST /sts/");
    }

    @Test
    void aProfileIsReadFromBothFiles() throws Exception {
        Files.writeString(
                home.resolve(".aws/config"),
                "[default]\nregion = eu-central-1\n[profile audit]\naws_access_key_id = AKIDCONFIG\n  nested = x\n"
                        + "aws_session_token = session\n[profile web]\nrole_arn = " + AwsEndpoints.ROLE
                        + "\nrole_session_name = test\nweb_identity_token_file = " + home.resolve("token")
                        + "\n[profile sso]\nsso_session = x\n");
        useProfile("# of the operator\n[audit]\naws_access_key_id=AKIDSTATIC\naws_secret_access_key=a-secret-key\n");
        environment.put("AWS_PROFILE", "audit");
        assertThat(keys(credentials())).isEqualTo(new Keys("AKIDSTATIC", "a-secret-key", "session"));
        Files.writeString(home.resolve("token"), aws.webToken);
        environment.put("AWS_PROFILE", "web");
        assertThat(keys(credentials())).isEqualTo(temporary(0));
        environment.put("AWS_PROFILE", "sso");
        assertNone("sso_session", "web_identity_token_file");
    }

    private static Arguments profile(String name, String config, String credentials, String expected) {
        String keys = "aws_access_key_id = AKIDSTATIC\naws_secret_access_key = a-secret-key\n";
        return arguments(name, config.replace("KEYS\n", keys), credentials.replace("KEYS\n", keys), expected);
    }

    /** The AWS CLI 2 (botocore 1.44) finds the same keys; none where {@code expected} is empty. */
    static Stream<Arguments> profiles() {
        return Stream.of(
                profile("", "[profile default]\nKEYS\n", "", "AKIDSTATIC"),
                profile("", "[profile \"default\"]\nKEYS\n", "", "AKIDSTATIC"),
                profile("", "[profile 'default']\nKEYS\n", "", "AKIDSTATIC"),
                profile("audit", "[profile\t\"audit\"]\nKEYS\n", "", "AKIDSTATIC"),
                profile("my audit", "[profile \"my audit\"]\nKEYS\n", "", "AKIDSTATIC"),
                profile("my audit", "", "[my audit]\nKEYS\n", "AKIDSTATIC"),
                profile("audit", "", "[audit]\nKEYS\n", "AKIDSTATIC"),
                profile("audit", "[audit]\nKEYS\n", "", ""),
                profile("audit", "", "[profile audit]\nKEYS\n", ""),
                profile("AUDIT", "", "[audit]\nKEYS\n", ""),
                profile(
                        "",
                        "",
                        "[default]\nAWS_ACCESS_KEY_ID = AKIDSTATIC\nAws_Secret_Access_Key = a-secret-key\n",
                        "AKIDSTATIC"),
                profile(
                        "",
                        "",
                        "[default]\naws_access_key_id: AKIDSTATIC\naws_secret_access_key:a-secret-key\n",
                        "AKIDSTATIC"),
                profile(
                        "",
                        "",
                        "[default]\r\n  aws_access_key_id=AKIDSTATIC\r\n  aws_secret_access_key = a-secret-key\r\n",
                        "AKIDSTATIC"),
                profile("", "", "  [default] # mine\nKEYS\n", "AKIDSTATIC"),
                profile("", "", "[DEFAULT]\nKEYS\n[default]\nregion = eu-central-1\n", "AKIDSTATIC"),
                profile("", "", "[DEFAULT]\nKEYS\n", ""),
                profile("", "[default]\ns3 =\n  aws_access_key_id = AKIDNESTED\nKEYS\n", "", "AKIDSTATIC"),
                profile(
                        "",
                        "[profile default]\naws_access_key_id = AKIDOTHER\naws_secret_access_key = a-secret-key\n[default]\nKEYS\n",
                        "",
                        "AKIDSTATIC"),
                profile("", "[sso-session default]\nKEYS\n[services default]\nKEYS\n", "", ""),
                profile("", "; a comment\n#[default]\n[default]\n ; KEYS\nregion=x\n", "", ""));
    }

    @ParameterizedTest
    @MethodSource("profiles")
    void aProfileIsReadAsTheAwsCliReadsIt(String name, String config, String credentials, String expected)
            throws Exception {
        Files.writeString(home.resolve(".aws/config"), config);
        useProfile(credentials);
        if (!name.isEmpty()) {
            environment.put("AWS_DEFAULT_PROFILE", name);
        }
        environment.put("AWS_EC2_METADATA_DISABLED", "true");
        if (expected.isEmpty()) {
            assertNone("");
        } else {
            assertThat(keys(credentials())).isEqualTo(STATIC);
        }
    }

    @Test
    void theHomeOfAFileMayBeATilde() throws Exception {
        Files.writeString(
                home.resolve("keys"),
                "[default]\naws_access_key_id = AKIDSTATIC\naws_secret_access_key = a-secret-key\n");
        environment.put("AWS_SHARED_CREDENTIALS_FILE", "~/keys");
        assertThat(keys(credentials())).isEqualTo(STATIC);
    }

    @Test
    void theTokenOfAContainerIsReadFromItsFileEachTime() throws Exception {
        useContainer();
        environment.remove("AWS_CONTAINER_AUTHORIZATION_TOKEN");
        assertNone("container's endpoint", "403");
        Path file = Files.writeString(home.resolve("token"), "another");
        environment.put("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file.toString());
        AwsCredentials credentials = credentials();
        assertThatThrownBy(() -> keys(credentials)).hasMessageContaining("403");
        Files.writeString(file, AwsEndpoints.CONTAINER_TOKEN.replace(' ', '\u00a0'));
        assertThatThrownBy(() -> keys(credentials)).hasMessageContaining("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    }

    /** Each is also repeated by AWS's SDKs. */
    @ParameterizedTest
    @CsvSource({
        "503, ServiceUnavailable",
        "500, InternalFailure",
        "400, Throttling",
        "400, ThrottlingException",
        "403, RequestLimitExceeded",
        "400, IDPCommunicationError",
        "400, RequestTimeout",
        "400, ExpiredTokenException",
        "429, ''"
    })
    void aSourceThatHasNoneNowMayHaveSomeLater(int status, String code) throws Exception {
        useWebIdentity();
        String xml = "<ErrorResponse><Error><Type>Sender</Type><Code>" + code + "</Code></Error></ErrorResponse>";
        try (FixedAnswer sts = new FixedAnswer(status, code.isEmpty() ? "" : xml)) {
            environment.put("AWS_ENDPOINT_URL_STS", sts.url());
            assertTemporary(code);
        }
        environment.remove("AWS_WEB_IDENTITY_TOKEN_FILE");
        for (String json : List.of("{\"code\": \"%s\"}", "{\"__type\": \"com.amazonaws#%s\"}")) {
            try (FixedAnswer container = new FixedAnswer(status, json.formatted(code))) {
                environment.put("AWS_CONTAINER_CREDENTIALS_FULL_URI", container.url());
                assertTemporary(code);
            }
        }
    }

    private void assertTemporary(String code) {
        assertThatThrownBy(() -> keys(credentials()))
                .isInstanceOfSatisfying(
                        NoCredentialsException.class,
                        none -> assertThat(none.isTemporary()).isTrue())
                .hasMessageContaining(code)
                .hasMessageNotContaining("trust policy");
    }

    @ParameterizedTest
    @CsvSource({
        "403, AccessDenied,         trust policy",
        "400, InvalidIdentityToken, identity provider",
        "400, ValidationError,      AWS_ROLE_ARN",
        "400, MalformedPolicyDocument, ''"
    })
    void aRefusalIsNoTemporaryFaultAndSaysWhatToCheck(int status, String code, String advice) throws Exception {
        useWebIdentity();
        try (FixedAnswer sts =
                new FixedAnswer(status, "<ErrorResponse><Error><Code>" + code + "</Code></Error></ErrorResponse>")) {
            environment.put("AWS_ENDPOINT_URL_STS", sts.url());
            assertThatThrownBy(() -> keys(credentials()))
                    .isInstanceOfSatisfying(
                            NoCredentialsException.class,
                            none -> assertThat(none.isTemporary()).isFalse())
                    .hasMessageContainingAll(code, advice);
        }
    }

    @Test
    void anEndpointThatDoesNotAnswerMayAnswerLaterUnlessItNeverDid() throws Exception {
        useWebIdentity();
        environment.put("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1");
        assertTemporary("No connection can be made");
        environment.remove("AWS_WEB_IDENTITY_TOKEN_FILE");
        AwsCredentials ofInstance = credentials();
        assertThat(keys(ofInstance)).isEqualTo(temporary(0));
        aws.close();
        now = now.plus(Duration.ofHours(2));
        assertThatThrownBy(() -> keys(ofInstance))
                .isInstanceOfSatisfying(
                        NoCredentialsException.class,
                        none -> assertThat(none.isTemporary()).isTrue());
        assertThatThrownBy(() -> keys(credentials()))
                .isInstanceOfSatisfying(
                        NoCredentialsException.class,
                        none -> assertThat(none.isTemporary()).isFalse());
    }

    /** A refused HEAD has no body, and so no code. */
    @ParameterizedTest
    @CsvSource({
        "GET, <Error><Code>ExpiredToken</Code></Error>",
        "GET, <Error><Code>TokenRefreshRequired</Code></Error>",
        "HEAD, ''"
    })
    void aRequestWithKeysThatHaveEndedIsSentAgainWithOthers(String method, String refusal) throws Exception {
        useContainer();
        List<String> tokens = new CopyOnWriteArrayList<>();
        HttpServer store =
                HttpServer.create(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0), 0);
        store.createContext("/", exchange -> {
            try (exchange) {
                tokens.add(exchange.getRequestHeaders().getFirst("x-amz-security-token"));
                boolean isEnded = tokens.size() == 1;
                byte[] body = (isEnded ? refusal : "").getBytes(StandardCharsets.UTF_8);
                exchange.sendResponseHeaders(isEnded ? 400 : 200, body.length == 0 ? -1 : body.length);
                exchange.getResponseBody().write(body);
            }
        });
        store.start();
        try {
            S3Requests requests = new S3Requests(
                    vertx,
                    S3Url.parse("s3+http://127.0.0.1:" + store.getAddress().getPort() + "/bucket?region=eu-central-1"),
                    credentials(),
                    Duration.ofSeconds(60));
            Uni<HttpExchange.Answer> answer =
                    method.equals("HEAD") ? requests.head("key") : requests.list("key", "", 1);
            assertThat(answer.await().atMost(Duration.ofSeconds(60)).status()).isEqualTo(200);
            assertThat(tokens).containsExactly("session-0", "session-1");
        } finally {
            store.stop(0);
        }
    }

    /** The token of a container would be sent to another machine in plain text. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "http://192.0.2.1/container",
                "http://169.254.169.254/latest/",
                "ftp://127.0.0.1/",
                "no URL",
                "http://169.254.170.2@192.0.2.1/"
            })
    void aContainersEndpointIsNearOrBehindTls(String url) {
        environment.put("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
        environment.put("AWS_CONTAINER_AUTHORIZATION_TOKEN", AwsEndpoints.CONTAINER_TOKEN);
        assertNone("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    }

    /** Among them: an answer that is longer than the part that is read. */
    static Stream<Arguments> hostileAnswers() {
        String good = "{\"AccessKeyId\": \"AKIDHOSTILE\", \"SecretAccessKey\": \"a-secret-key\"%s}";
        return Stream.of(
                arguments(302, good.formatted("")),
                arguments(200, " ".repeat(70_000) + good.formatted("")),
                arguments(200, good.formatted("").replace("AKID", "AKID\\r\\nX-Other: ")),
                arguments(200, good.formatted("").replace("a-secret-key", "a\\nsecret-key")),
                arguments(200, good.formatted(", \"Token\": \"a\\r\\nX-Other: b\"")),
                arguments(200, good.formatted(", \"Expiration\": \"soon\"")),
                arguments(200, good.formatted("").replace("\"AKIDHOSTILE\"", "12345")),
                arguments(200, "[" + good.formatted("") + "]"),
                arguments(200, "[".repeat(5_000)),
                arguments(200, "null"),
                arguments(200, ""));
    }

    @ParameterizedTest
    @MethodSource("hostileAnswers")
    void noKeysAreTakenFromAnotherAnswer(int status, String body) throws Exception {
        try (FixedAnswer hostile = new FixedAnswer(status, body)) {
            environment.put("AWS_CONTAINER_CREDENTIALS_FULL_URI", hostile.url() + "/container");
            assertNone("The container's endpoint");
            assertThat(hostile.asked).containsExactly("/container");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"two words", "../../other", "a/b", "", "<html>"})
    void aRoleIsAName(String role) throws Exception {
        try (FixedAnswer hostile = new FixedAnswer(200, role)) {
            environment.put("AWS_EC2_METADATA_SERVICE_ENDPOINT", hostile.url());
            assertNone("no role");
            assertThat(hostile.asked).allMatch(path -> !path.contains("other") && !path.endsWith("b"));
        }
    }

    /** A web identity is as good as keys. */
    @Test
    void aWebIdentityIsSentOverTlsAlone() throws Exception {
        useWebIdentity();
        for (String url : List.of("http://192.0.2.1/", "http://127.0.0.1@192.0.2.1/", "ftp://127.0.0.1/", "no URL")) {
            environment.put("AWS_ENDPOINT_URL_STS", url);
            assertNone("AWS_ENDPOINT_URL_STS");
        }
        environment.remove("AWS_ENDPOINT_URL_STS");
        environment.put("AWS_REGION", "eu.evil.example/");
        assertNone("AWS_REGION");
    }

    /** Failures name the endpoint, and tenants read them. */
    @Test
    void noPasswordOfAnEndpointIsShown() {
        environment.put("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://user:hidden@127.0.0.1:1/container");
        assertThatThrownBy(() -> keys(credentials()))
                .isInstanceOf(NoCredentialsException.class)
                .hasMessageNotContaining("hidden");
    }

    @ParameterizedTest
    @ValueSource(strings = {"@127.0.0.1/x", ".example.org/x", ":80@127.0.0.1/"})
    void aRelativeUriStaysAtTheContainersHost(String relative) {
        environment.put("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", relative);
        assertNone("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    }

    @Test
    void anInstanceWithoutMetadataIsToldWithAllThatWasTried() {
        environment.put("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1");
        assertNone(
                "AWS_ACCESS_KEY_ID",
                "AWS_WEB_IDENTITY_TOKEN_FILE",
                "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                "No connection can be made",
                "hop limit");
        environment.put("AWS_EC2_METADATA_SERVICE_ENDPOINT", aws.url());
        aws.isBroken = true;
        assertNone("403", "Attach a role");
    }

    /** The web identity is read again, because Kubernetes replaces its file. */
    @Test
    void temporaryKeysAreRenewedOnceAndUsedWhileTheyLast() throws Exception {
        Path file = useWebIdentity();
        AwsCredentials credentials = credentials();
        assertThat(together(credentials, 50)).containsOnly(temporary(0));
        aws.webToken = "eyJ.second";
        Files.writeString(file, aws.webToken);
        now = now.plus(Duration.ofMinutes(29));
        assertThat(together(credentials, 50)).containsOnly(temporary(0));
        assertThat(aws.asked).hasSize(1);
        now = now.plus(Duration.ofMinutes(17));
        assertThat(together(credentials, 50)).contains(temporary(0));
        Await.until("they are renewed", () -> keys(credentials).equals(temporary(1)));
        assertThat(aws.asked).hasSize(2);

        aws.isBroken = true;
        now = now.plus(Duration.ofMinutes(46));
        assertThat(together(credentials, 50)).containsOnly(temporary(1));
        Await.until("a renewal fails", () -> aws.asked.size() == 3);
        assertThat(together(credentials, 50)).containsOnly(temporary(1));
        now = now.plus(Duration.ofMinutes(14));
        assertThatThrownBy(() -> keys(credentials)).hasMessageContaining("AccessDenied");
        aws.isBroken = false;
        assertThat(together(credentials, 50)).containsOnly(temporary(2));
    }

    private static List<Keys> together(AwsCredentials credentials, int callers) {
        List<Uni<Keys>> all =
                IntStream.range(0, callers).mapToObj(i -> credentials.keys()).toList();
        return Uni.join().all(all).andFailFast().await().atMost(Duration.ofSeconds(60));
    }

    @Test
    void keysThatAStoreHoldsForExpiredAreReplaced() throws Exception {
        useWebIdentity();
        AwsCredentials credentials = credentials();
        Keys first = keys(credentials);
        for (int i = 0; i < 2; i++) {
            assertThat(credentials.otherThan(first).await().atMost(Duration.ofSeconds(60)))
                    .isEqualTo(temporary(1));
        }
    }

    /** A caller that gives up takes nothing from the others. */
    @Test
    void aCallerThatGivesUpDoesNotEndTheRequestOfOthers() throws Exception {
        useWebIdentity();
        AwsCredentials credentials = credentials();
        credentials.keys().subscribe().with(keys -> {}, failure -> {}).cancel();
        assertThat(keys(credentials)).isEqualTo(temporary(0));
        assertThat(aws.asked).hasSize(1);
    }

    @Test
    void keysShowNoSecret() {
        assertThat(temporary(0).toString())
                .doesNotContain(ObjectStore.SECRET_KEY)
                .doesNotContain("session");
    }
}
