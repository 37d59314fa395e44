package dev.annals.edges.delivery;

import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The URL of a topic: {@code kafka://broker:9092,other:9092/topic}, with {@code ?sasl=…} for a login, {@code ?tls=false} for brokers
 * without a certificate, and {@code ?tls=mutual} for those that ask for the service's.
 *
 * @param brokers unresolved; they name the others
 * @param mechanism of SASL, by its name in Kafka; null without a login
 * @param tokenUrl gives the tokens of {@code sasl=oauthbearer}; null for other logins
 * @param scope of these tokens; null for none
 */
record KafkaUrl(
        List<InetSocketAddress> brokers,
        String topic,
        boolean tls,
        boolean showsCertificate,
        @Nullable String mechanism,
        @Nullable URI tokenUrl,
        @Nullable String scope) {

    static final String FORM =
            "It must be kafka://host:port,host:port/topic, optionally with tls=false or mutual, and sasl=plain, scram-sha-256,"
                    + " scram-sha-512 or oauthbearer; the last needs token_url, which is https, and may have scope.";

    static final String OAUTHBEARER = "OAUTHBEARER";
    private static final String TOKEN_URL = "token_url";
    private static final String SCOPE = "scope";
    private static final int DEFAULT_PORT = 9092;
    private static final int MAX_BROKERS = 16;
    private static final Pattern URL = Pattern.compile("kafka://([^/?#@]+)/([0-9A-Za-z._-]{1,249})(?:\\?([^#]*))?");
    private static final Pattern BROKER =
            Pattern.compile("(?:([0-9A-Za-z][0-9A-Za-z._-]{0,252})|\\[([0-9A-Fa-f:.]+)])(?::([0-9]{1,5}))?");
    private static final Pattern LOGIN = Pattern.compile("[^:\\p{Cntrl}]+:[^\\p{Cntrl}]+");
    private static final Map<String, String> MECHANISMS = Map.of(
            "plain", "PLAIN",
            "scram-sha-256", "SCRAM-SHA-256",
            "scram-sha-512", "SCRAM-SHA-512",
            "oauthbearer", OAUTHBEARER);
    private static final List<String> OPTIONS = List.of("tls", "sasl", TOKEN_URL, SCOPE);
    private static final Pattern SCOPES = Pattern.compile("[ -!#-\\[\\]-~]{1,512}");

    /** @throws IllegalArgumentException if it is not such a URL */
    static KafkaUrl parse(String text) {
        Matcher url = URL.matcher(text);
        if (!url.matches() || url.group(2).equals(".") || url.group(2).equals("..")) {
            throw new IllegalArgumentException(FORM);
        }
        Map<String, String> options = options(url.group(3));
        String tls = options.getOrDefault("tls", "true");
        String sasl = options.get("sasl");
        String mechanism = sasl == null ? null : MECHANISMS.get(sasl.toLowerCase(Locale.ROOT));
        if (!List.of("true", "false", "mutual").contains(tls) || (sasl != null && mechanism == null)) {
            throw new IllegalArgumentException(FORM);
        }
        String scope = options.get(SCOPE);
        if (scope != null
                && !(OAUTHBEARER.equals(mechanism) && SCOPES.matcher(scope).matches())) {
            throw new IllegalArgumentException(FORM);
        }
        return new KafkaUrl(
                brokers(url.group(1)),
                url.group(2),
                !tls.equals("false"),
                tls.equals("mutual"),
                mechanism,
                tokenUrl(options.get(TOKEN_URL), OAUTHBEARER.equals(mechanism)),
                scope);
    }

    private static @Nullable URI tokenUrl(@Nullable String text, boolean isWanted) {
        if (!isWanted && text == null) {
            return null;
        }
        List<String> wrong = new ArrayList<>();
        HttpExchange.check(text == null ? "" : text, (field, detail) -> wrong.add(detail));
        if (text == null || !isWanted || !wrong.isEmpty()) {
            throw new IllegalArgumentException(FORM);
        }
        return URI.create(text);
    }

    private static Map<String, String> options(@Nullable String query) {
        Map<String, String> options = new HashMap<>();
        if (query != null) {
            for (String option : query.split("&", -1)) {
                String name = option.substring(0, Math.max(0, option.indexOf('=')));
                if (!OPTIONS.contains(name)
                        || options.put(name, decoded(option.substring(name.length() + 1))) != null) {
                    throw new IllegalArgumentException(FORM);
                }
            }
        }
        return options;
    }

    /** @throws IllegalArgumentException if it is not percent-encoded */
    private static String decoded(String text) {
        return URLDecoder.decode(text, StandardCharsets.UTF_8);
    }

    private static List<InetSocketAddress> brokers(String text) {
        List<InetSocketAddress> brokers = new ArrayList<>();
        for (String each : text.split(",", -1)) {
            Matcher broker = BROKER.matcher(each);
            int port =
                    !broker.matches() ? 0 : broker.group(3) == null ? DEFAULT_PORT : Integer.parseInt(broker.group(3));
            if (port < 1 || port > 65_535 || brokers.size() == MAX_BROKERS) {
                throw new IllegalArgumentException(FORM);
            }
            brokers.add(InetSocketAddress.createUnresolved(
                    broker.group(1) == null ? broker.group(2) : broker.group(1), port));
        }
        return brokers;
    }

    static void check(String url, @Nullable String secret, BiConsumer<String, String> wrong) {
        boolean login;
        try {
            login = parse(url).mechanism() != null;
        } catch (IllegalArgumentException e) {
            wrong.accept("url", FORM);
            return;
        }
        if (secret != null && !login) {
            wrong.accept("secret", "It is a login, and needs sasl=… in the URL.");
        } else if (secret != null && !LOGIN.matcher(secret).matches()) {
            wrong.accept(
                    "secret", "It must be user:password, in one line; with oauthbearer the client's id and secret.");
        }
    }

    List<String> hosts() {
        List<String> hosts =
                brokers.stream().map(InetSocketAddress::getHostString).collect(Collectors.toList());
        if (tokenUrl != null) {
            hosts.add(HttpExchange.host(tokenUrl));
        }
        return hosts;
    }
}
