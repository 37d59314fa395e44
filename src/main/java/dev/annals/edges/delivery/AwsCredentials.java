package dev.annals.edges.delivery;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.kernel.http.Timestamps;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpMethod;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * The identity of this process at AWS: keys of the environment, a web identity, a profile, the container's or the instance's role, in the
 * order of AWS's SDKs and by their variables. The first source that is configured counts. If it fails, no later one is asked: it would
 * be another identity. One request at a time renews temporary keys after half to three quarters of their time, and they are used as long
 * as they last.
 */
public final class AwsCredentials implements S3Credentials {

    private static final Logger LOG = Logger.getLogger(AwsCredentials.class);
    private static final Duration LIMIT = Duration.ofSeconds(10);
    /** Metadata endpoints are near, and silent where they do not exist. */
    private static final Duration METADATA_LIMIT = Duration.ofSeconds(3);
    /** Keys without an end are read again after this time. */
    private static final Duration READ_AGAIN = Duration.ofMinutes(1);
    /** Keys that end within this time, or within a tenth of their time, are not used. */
    private static final Duration TOO_SHORT = Duration.ofSeconds(10);

    private static final int MAX_FILE_BYTES = 1_048_576;
    private static final int MAX_TOKEN_BYTES = 20_480;
    private static final String WEB_TOKEN = "AWS_WEB_IDENTITY_TOKEN_FILE";
    private static final String RELATIVE = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
    private static final String FULL = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
    private static final String CONTAINER = "http://169.254.170.2";
    /** The addresses of ECS and EKS. Loopback and https are allowed, too. */
    private static final Set<String> CONTAINER_HOSTS = Set.of("169.254.170.2", "169.254.170.23", "fd00:ec2::23");

    private static final String INSTANCE = "/latest/meta-data/iam/security-credentials/";
    private static final String INSTANCE_TOKEN = "x-aws-ec2-metadata-token";
    private static final String TOKEN_SECONDS = "300";
    private static final Pattern REGION = Pattern.compile("[0-9a-z-]{1,64}");
    private static final Pattern ROLE = Pattern.compile("[0-9A-Za-z+=,.@_-]{1,64}");
    private static final Pattern LINE = Pattern.compile("[!-~]{1,20480}");
    private static final List<String> UNSUPPORTED =
            List.of("source_profile", "credential_source", "credential_process", "sso_session", "sso_start_url");

    private final Map<String, String> environment;
    private final HttpExchange http;
    private final HttpExchange metadata;
    private final Vertx vertx;
    private final InstantSource clock;
    private @Nullable Session current;
    private @Nullable CompletableFuture<Keys> renewal;
    private volatile boolean hadKeys;

    /**
     * Keys and their lifetime.
     *
     * @param ends not used from then on; null if they have no end
     */
    private record Session(Keys keys, @Nullable Instant ends, Instant renewAt) {

        static Session of(Keys keys, @Nullable Instant expires, Instant now) {
            if (expires == null) {
                return new Session(keys, null, now.plus(READ_AGAIN));
            }
            Duration left = Duration.between(now, expires);
            Duration margin = left.dividedBy(10).compareTo(TOO_SHORT) < 0 ? left.dividedBy(10) : TOO_SHORT;
            long early = (long) (left.toMillis() * ThreadLocalRandom.current().nextDouble(0.5, 0.75));
            return new Session(keys, expires.minus(margin), now.plusMillis(early));
        }

        boolean lasts(Instant now) {
            return ends == null || now.isBefore(ends);
        }
    }

    /** The identity of this process. Closing {@code vertx} closes the HTTP client. */
    public AwsCredentials(Vertx vertx) {
        this(
                vertx,
                vertx.createHttpClient(new HttpClientOptions().setVerifyHost(true)),
                System.getenv(),
                InstantSource.system());
    }

    AwsCredentials(Vertx vertx, HttpClient client, Map<String, String> environment, InstantSource clock) {
        this.clock = clock;
        this.vertx = vertx;
        this.environment = environment;
        this.http = new HttpExchange(Targets.anywhere(vertx), client, LIMIT);
        this.metadata = new HttpExchange(
                (host, isEncrypted) -> SinkLoops.blocking(vertx, () -> InetAddress.getByName(host)),
                client,
                METADATA_LIMIT);
    }

    @Override
    public Uni<Keys> keys() {
        return Uni.createFrom().deferred(() -> {
            synchronized (this) {
                Session session = current;
                if (session != null && session.lasts(clock.instant())) {
                    if (clock.instant().isAfter(session.renewAt())) {
                        CompletableFuture<Keys> unused = renewed();
                    }
                    return Uni.createFrom().item(session.keys());
                }
                // A copy, because a caller that gives up cancels it.
                return Uni.createFrom().completionStage(renewed().copy());
            }
        });
    }

    /** From their source, unless it was asked since. */
    @Override
    public Uni<Keys> otherThan(Keys rejected) {
        synchronized (this) {
            if (current != null && current.keys().equals(rejected)) {
                current = null;
            }
        }
        return keys();
    }

    private synchronized CompletableFuture<Keys> renewed() {
        if (renewal != null) {
            return renewal;
        }
        CompletableFuture<Keys> begun = new CompletableFuture<>();
        renewal = begun;
        Uni.createFrom()
                .deferred(this::load)
                .ifNoItem()
                .after(LIMIT.multipliedBy(2))
                .failWith(() -> later("Their source does not answer."))
                .subscribe()
                .with(
                        session -> {
                            replace(session);
                            begun.complete(session.keys());
                        },
                        failure -> {
                            retryLater(failure);
                            begun.completeExceptionally(failure);
                        });
        return begun;
    }

    private synchronized void replace(Session session) {
        current = session;
        renewal = null;
        hadKeys = true;
    }

    /** The previous keys are used as long as they last. */
    private synchronized void retryLater(Throwable failure) {
        renewal = null;
        Session before = current;
        if (before != null && before.lasts(clock.instant())) {
            current = new Session(before.keys(), before.ends(), nextTry(before.ends()));
            LOG.warnf(
                    "The service's credentials cannot be renewed; the ones before last %s: %s",
                    before.ends() == null ? "on" : "until " + before.ends(), failure.getMessage());
        }
    }

    private Instant nextTry(@Nullable Instant ends) {
        Instant now = clock.instant();
        Duration left = ends == null ? READ_AGAIN : Duration.between(now, ends);
        return now.plus(left.dividedBy(10));
    }

    private static NoCredentialsException none(String why) {
        return new NoCredentialsException("The service has no credentials. " + why, false);
    }

    private static NoCredentialsException later(String why) {
        return new NoCredentialsException("The service has no credentials yet. " + why, true);
    }

    /** No answer of a source that is configured. */
    private static NoCredentialsException unreachable(String source, HttpExchange exchange, Throwable failure) {
        String why = source + ": " + exchange.explain(failure);
        return failure instanceof Targets.RefusedTargetException ? none(why) : later(why);
    }

    private static NoCredentialsException refused(String source, HttpExchange.Answer answer, String advice) {
        String why = source + ". " + AwsAnswers.why(answer);
        return AwsAnswers.isTemporary(answer) ? later(why) : none(why + advice);
    }

    private @Nullable String variable(String name) {
        String value = environment.get(name);
        return value == null || value.isBlank() ? null : value.strip();
    }

    private String variable(String name, String otherwise) {
        return Optional.ofNullable(variable(name)).orElse(otherwise);
    }

    private Uni<Session> load() {
        if (variable("AWS_ACCESS_KEY_ID") != null || variable("AWS_SECRET_ACCESS_KEY") != null) {
            return Uni.createFrom()
                    .item(() -> session(
                            "The environment",
                            environment::get,
                            "AWS_ACCESS_KEY_ID",
                            "AWS_SECRET_ACCESS_KEY",
                            "AWS_SESSION_TOKEN",
                            null));
        }
        String token = variable(WEB_TOKEN);
        if (token != null) {
            return webIdentity(token, variable("AWS_ROLE_ARN"), variable("AWS_ROLE_SESSION_NAME"));
        }
        return SinkLoops.blocking(vertx, this::profile).chain(profile -> {
            if (profile.containsKey("web_identity_token_file")) {
                return webIdentity(
                        profile.get("web_identity_token_file"),
                        profile.get("role_arn"),
                        profile.get("role_session_name"));
            } else if (!profile.isEmpty()) {
                return Uni.createFrom()
                        .item(() -> session(
                                "The profile",
                                profile::get,
                                "aws_access_key_id",
                                "aws_secret_access_key",
                                "aws_session_token",
                                null));
            }
            return variable(RELATIVE) != null || variable(FULL) != null ? container() : instance();
        });
    }

    /** @param end the name of the field with their end; null if they have none */
    private Session session(
            String source,
            Function<String, @Nullable String> fields,
            String access,
            String secret,
            String token,
            @Nullable String end) {
        String accessKey = text(fields.apply(access));
        String secretKey = text(fields.apply(secret));
        String sessionToken = text(fields.apply(token));
        String expires = end == null ? null : fields.apply(end);
        if (!S3Credentials.TEXT.matcher(accessKey + ":" + secretKey).matches()
                || !(sessionToken.isEmpty() || LINE.matcher(sessionToken).matches())) {
            throw none(source + " has no usable " + access + " and " + secret + ".");
        }
        OffsetDateTime ends = expires == null ? null : Timestamps.parse(expires);
        if (expires != null && ends == null) {
            throw none(source + " has no usable " + end + ".");
        }
        return Session.of(
                new Keys(accessKey, secretKey, sessionToken.isEmpty() ? null : sessionToken),
                ends == null ? null : ends.toInstant(),
                clock.instant());
    }

    private static String text(@Nullable String field) {
        return field == null ? "" : field.strip();
    }

    private Uni<Session> webIdentity(String file, @Nullable String role, @Nullable String name) {
        if (role == null) {
            return Uni.createFrom().failure(none("The web identity of " + file + " needs a role: set AWS_ROLE_ARN."));
        }
        URI sts = sts();
        return SinkLoops.blocking(vertx, () -> token(file, WEB_TOKEN))
                .chain(token -> http.send(new HttpExchange.Request(
                        HttpMethod.POST,
                        sts,
                        Map.of("content-type", "application/x-www-form-urlencoded"),
                        Buffer.buffer(form(Map.of(
                                "Action",
                                "AssumeRoleWithWebIdentity",
                                "Version",
                                "2011-06-15",
                                "RoleArn",
                                role,
                                "RoleSessionName",
                                name == null ? "annals" : name,
                                "WebIdentityToken",
                                token))))))
                .onFailure(failure -> !(failure instanceof NoCredentialsException))
                .transform(failure -> unreachable(sts + " (AWS_ENDPOINT_URL_STS, AWS_REGION)", http, failure))
                .map(answer -> {
                    if (answer.status() != 200) {
                        throw refused(
                                sts + " does not give the role " + role + " to the web identity of " + file,
                                answer,
                                advice(AwsAnswers.code(answer)));
                    }
                    String body = answer.body().toString(StandardCharsets.UTF_8);
                    return session(
                            sts.toString(),
                            field -> element(body, field),
                            "AccessKeyId",
                            "SecretAccessKey",
                            "SessionToken",
                            "Expiration");
                });
    }

    private static String advice(@Nullable String code) {
        return switch (code == null ? "" : code) {
            case "AccessDenied" -> " Check the role's trust policy.";
            case "InvalidIdentityToken" -> " Check the identity provider at AWS, and the token's issuer and audience.";
            case "ValidationError" -> " Check AWS_ROLE_ARN and AWS_ROLE_SESSION_NAME.";
            default -> "";
        };
    }

    private URI sts() {
        String region = variable("AWS_REGION", variable("AWS_DEFAULT_REGION", ""));
        String domain = region.startsWith("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
        String url = variable(
                "AWS_ENDPOINT_URL_STS",
                variable("AWS_ENDPOINT_URL", "https://sts" + (region.isEmpty() ? "" : "." + region) + domain));
        if (!(region.isEmpty() || REGION.matcher(region).matches())) {
            throw none("AWS_REGION is no region.");
        }
        return endpoint(url.endsWith("/") ? url : url + "/", "AWS_ENDPOINT_URL_STS");
    }

    private static URI endpoint(String url, String variable) {
        try {
            URI uri = URI.create(url);
            // Failures show it, so it has no password.
            if (HttpExchange.isHttp(uri) && uri.getRawUserInfo() == null) {
                return uri;
            }
        } catch (IllegalArgumentException e) {
            // as below
        }
        throw none(variable + " is no http or https URL without a user.");
    }

    private static String form(Map<String, String> fields) {
        List<String> parts = new ArrayList<>();
        fields.forEach((name, value) -> parts.add(name + "=" + URLEncoder.encode(value, StandardCharsets.UTF_8)));
        return String.join("&", parts);
    }

    private static @Nullable String element(String xml, String name) {
        Matcher found = Pattern.compile("<" + name + ">([^<&]*)</" + name + ">").matcher(xml);
        return found.find() ? found.group(1) : null;
    }

    /** Blocks. The file changes: its token has a short time. */
    private static String token(String file, String variable) {
        String token = read(Path.of(file), MAX_TOKEN_BYTES).strip();
        if (!LINE.matcher(token).matches()) {
            throw none("The file " + file + " (" + variable + ") cannot be read, or has no token in one line.");
        }
        return token;
    }

    /** Empty if it cannot be read or is too large. */
    private static String read(Path file, int most) {
        try {
            return Files.size(file) > most ? "" : Files.readString(file);
        } catch (IOException e) {
            return "";
        }
    }

    /**
     * Blocks.
     *
     * @return empty if there is none with an identity
     */
    private Map<String, String> profile() {
        String named = variable("AWS_PROFILE", variable("AWS_DEFAULT_PROFILE", ""));
        String name = named.isEmpty() ? "default" : named;
        Map<String, String> profile =
                new HashMap<>(AwsProfile.read(read(file("AWS_CONFIG_FILE", "config"), MAX_FILE_BYTES), name, true));
        profile.putAll(
                AwsProfile.read(read(file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), MAX_FILE_BYTES), name, false));
        for (String unsupported : UNSUPPORTED) {
            if (profile.containsKey(unsupported) && !profile.containsKey("aws_access_key_id")) {
                throw none("The profile " + name + " needs " + unsupported
                        + ", which the service does not read: give it keys, or role_arn with web_identity_token_file.");
            }
        }
        boolean isIdentity = profile.containsKey("aws_access_key_id") || profile.containsKey("web_identity_token_file");
        if (!isIdentity && !named.isEmpty()) {
            throw none("The profile " + name
                    + " (AWS_PROFILE) has no keys in AWS_SHARED_CREDENTIALS_FILE or AWS_CONFIG_FILE.");
        }
        return isIdentity ? profile : Map.of();
    }

    private Path file(String variable, String name) {
        Path home = Path.of(variable("HOME", System.getProperty("user.home")));
        String path = variable(variable, "~/.aws/" + name);
        return path.startsWith("~/") ? home.resolve(path.substring(2)) : Path.of(path);
    }

    private Uni<Session> container() {
        String relative = variable(RELATIVE);
        String full = variable(FULL, "");
        URI url = relative != null ? endpoint(CONTAINER + relative, RELATIVE) : endpoint(full, FULL);
        boolean isNear = CONTAINER_HOSTS.contains(HttpExchange.host(url));
        if (relative != null && !CONTAINER.endsWith("/" + url.getAuthority())) {
            return Uni.createFrom().failure(none(RELATIVE + " must begin with a slash."));
        }
        // Any other host must be https or this machine's loopback.
        HttpExchange exchange = isNear ? metadata : http;
        return SinkLoops.blocking(vertx, this::containerHeaders)
                .chain(headers ->
                        exchange.send(new HttpExchange.Request(HttpMethod.GET, url, headers, Buffer.buffer())))
                .onFailure(failure -> !(failure instanceof NoCredentialsException))
                .transform(failure -> unreachable(
                        "The container's endpoint " + url.getAuthority() + " (" + RELATIVE + ", " + FULL + ")",
                        exchange,
                        failure))
                .map(answer -> fromJson("The container's endpoint " + url.getAuthority(), answer));
    }

    private Map<String, String> containerHeaders() {
        String file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
        String token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
        if (file != null) {
            return Map.of("authorization", token(file, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"));
        }
        if (token != null && !token.matches("[ -~]+")) {
            throw none("AWS_CONTAINER_AUTHORIZATION_TOKEN must be one line.");
        }
        return token == null ? Map.of() : Map.of("authorization", token);
    }

    private Session fromJson(String source, HttpExchange.Answer answer) {
        JsonNode fields = answer.json();
        if (answer.status() != 200
                || !fields.isObject()
                || !fields.path("Code").asText("Success").equals("Success")) {
            throw refused(source + " gives none", answer, "");
        }
        return session(
                source,
                name -> fields.path(name).isTextual() ? fields.path(name).textValue() : null,
                "AccessKeyId",
                "SecretAccessKey",
                "Token",
                "Expiration");
    }

    /** By IMDSv2 alone: a token by PUT, which an open proxy does not forward. */
    private Uni<Session> instance() {
        String tried = "Tried: the environment (AWS_ACCESS_KEY_ID is not set), a web identity (" + WEB_TOKEN
                + " is not set), the profile default (it has no keys), the container (" + RELATIVE
                + " is not set), the instance (";
        String advice = "). Give the service one of them, or the stream keys as its secret.";
        if (variable("AWS_EC2_METADATA_DISABLED", "false").equalsIgnoreCase("true")) {
            return Uni.createFrom().failure(none(tried + "AWS_EC2_METADATA_DISABLED is true" + advice));
        }
        boolean isV6 = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "").equalsIgnoreCase("IPv6");
        URI endpoint = endpoint(
                variable(
                        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
                        isV6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254"),
                "AWS_EC2_METADATA_SERVICE_ENDPOINT");
        return ask(HttpMethod.PUT, endpoint, "/latest/api/token", INSTANCE_TOKEN + "-ttl-seconds", TOKEN_SECONDS)
                .map(answer -> line(answer, LINE))
                .chain(token -> ask(HttpMethod.GET, endpoint, INSTANCE, INSTANCE_TOKEN, token)
                        .map(answer -> line(answer, ROLE))
                        .chain(role -> ask(HttpMethod.GET, endpoint, INSTANCE + role, INSTANCE_TOKEN, token)))
                .onFailure(failure -> !(failure instanceof NoCredentialsException))
                // Without keys before, this may be no instance of AWS.
                .transform(failure -> hadKeys
                        ? unreachable("The instance's endpoint " + endpoint, metadata, failure)
                        : none(tried + endpoint + ": " + metadata.explain(failure)
                                + " In a container, its hop limit must be 2" + advice))
                .map(answer -> fromJson("The instance's endpoint " + endpoint, answer));
    }

    private Uni<HttpExchange.Answer> ask(HttpMethod method, URI endpoint, String path, String header, String value) {
        URI url = URI.create(endpoint.getScheme() + "://" + endpoint.getAuthority() + path);
        return metadata.send(new HttpExchange.Request(method, url, Map.of(header, value), Buffer.buffer()));
    }

    private static String line(HttpExchange.Answer answer, Pattern pattern) {
        String[] lines = answer.body().toString(StandardCharsets.UTF_8).strip().split("\\R", -1);
        if (answer.status() != 200 || !pattern.matcher(lines[0]).matches()) {
            throw refused("The instance's endpoint has no role for it", answer, " Attach a role to the instance.");
        }
        return lines[0];
    }
}
