package dev.annals.edges.delivery;

import java.net.InetSocketAddress;
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
 * The URL of a topic: {@code kafka://broker:9092,other:9092/topic}, with {@code ?sasl=…} for a login, and {@code ?tls=false} for brokers
 * without a certificate.
 *
 * @param brokers unresolved; they name the others
 * @param mechanism of SASL, by its name in Kafka; null without a login
 */
record KafkaUrl(
        List<InetSocketAddress> brokers,
        String topic,
        boolean tls,
        @Nullable String mechanism) {

    static final String FORM =
            "It must be kafka://host:port,host:port/topic, optionally with sasl=plain, scram-sha-256 or"
                    + " scram-sha-512, and tls=false.";

    private static final int DEFAULT_PORT = 9092;
    private static final int MAX_BROKERS = 16;
    private static final Pattern URL = Pattern.compile("kafka://([^/?#@]+)/([0-9A-Za-z._-]{1,249})(?:\\?([^#]*))?");
    private static final Pattern BROKER =
            Pattern.compile("(?:([0-9A-Za-z][0-9A-Za-z._-]{0,252})|\\[([0-9A-Fa-f:.]+)])(?::([0-9]{1,5}))?");
    private static final Pattern LOGIN = Pattern.compile("[^:\\p{Cntrl}]+:[^\\p{Cntrl}]+");
    private static final Map<String, String> MECHANISMS = Map.of(
            "plain", "PLAIN",
            "scram-sha-256", "SCRAM-SHA-256",
            "scram-sha-512", "SCRAM-SHA-512");

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
        if (!List.of("true", "false").contains(tls) || (sasl != null && mechanism == null)) {
            throw new IllegalArgumentException(FORM);
        }
        return new KafkaUrl(brokers(url.group(1)), url.group(2), tls.equals("true"), mechanism);
    }

    private static Map<String, String> options(@Nullable String query) {
        Map<String, String> options = new HashMap<>();
        if (query != null) {
            for (String option : query.split("&", -1)) {
                String name = option.substring(0, Math.max(0, option.indexOf('=')));
                if (!List.of("tls", "sasl").contains(name)
                        || options.put(name, option.substring(name.length() + 1)) != null) {
                    throw new IllegalArgumentException(FORM);
                }
            }
        }
        return options;
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
            wrong.accept("secret", "It must be user:password, in one line.");
        }
    }

    List<String> hosts() {
        return brokers.stream().map(InetSocketAddress::getHostString).collect(Collectors.toList());
    }
}
