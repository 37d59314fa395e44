package dev.annals.edges.delivery;

import java.io.Serial;
import java.nio.charset.StandardCharsets;
import java.security.NoSuchAlgorithmException;
import java.security.Provider;
import java.security.Security;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.security.auth.callback.CallbackHandler;
import javax.security.sasl.SaslClient;
import javax.security.sasl.SaslClientFactory;
import javax.security.sasl.SaslException;
import org.jspecify.annotations.Nullable;

/**
 * SCRAM logins in which the server may ask for at most {@value #MAX_ITERATIONS} iterations. Kafka's client computes up to two billion, on a
 * thread that cannot be stopped. This provider precedes the client's own, checks each message, and delegates to it.
 */
final class BoundedScram extends Provider {

    @Serial
    private static final long serialVersionUID = 1;

    /** About a second. Kafka's default is 4,096. */
    private static final int MAX_ITERATIONS = 1_000_000;

    private static final String NAME = "AnnalsBoundedScram";
    private static final String TYPE = "SaslClientFactory";
    private static final List<String> MECHANISMS = List.of("SCRAM-SHA-256", "SCRAM-SHA-512");
    /** RFC 5802, server-first-message. */
    private static final Pattern ITERATIONS = Pattern.compile("(?:^|,)i=([^,]*)");

    private static final Pattern BOUNDED = Pattern.compile("[0-9]{1,7}");

    private BoundedScram() {
        super(NAME, "1", "SCRAM with a limit on iterations");
        for (String mechanism : MECHANISMS) {
            putService(new Service(this, TYPE, mechanism, Factory.class.getName(), null, null) {
                @Override
                public Object newInstance(@Nullable Object parameter) {
                    return new Factory();
                }
            });
        }
    }

    static void install() {
        Security.insertProviderAt(new BoundedScram(), 1);
    }

    /** True also for a message that asks for no iterations. */
    static boolean isBounded(byte[] message) {
        Matcher iterations = ITERATIONS.matcher(new String(message, StandardCharsets.UTF_8));
        while (iterations.find()) {
            if (!BOUNDED.matcher(iterations.group(1)).matches()
                    || Integer.parseInt(iterations.group(1)) > MAX_ITERATIONS) {
                return false;
            }
        }
        return true;
    }

    private static final class Factory implements SaslClientFactory {

        @Override
        public @Nullable SaslClient createSaslClient(
                String[] mechanisms,
                String authorizationId,
                String protocol,
                String server,
                Map<String, ?> properties,
                CallbackHandler handler)
                throws SaslException {
            for (String mechanism : mechanisms) {
                if (MECHANISMS.contains(mechanism)) {
                    SaslClient client = behind(mechanism)
                            .createSaslClient(
                                    new String[] {mechanism}, authorizationId, protocol, server, properties, handler);
                    return client == null ? null : new Client(client);
                }
            }
            return null;
        }

        private static SaslClientFactory behind(String mechanism) throws SaslException {
            for (Provider provider : Security.getProviders(TYPE + "." + mechanism)) {
                if (!provider.getName().equals(NAME)) {
                    try {
                        return (SaslClientFactory)
                                provider.getService(TYPE, mechanism).newInstance(null);
                    } catch (NoSuchAlgorithmException e) {
                        throw new SaslException("the client lacks " + mechanism, e);
                    }
                }
            }
            throw new SaslException("the client lacks " + mechanism);
        }

        @Override
        public String[] getMechanismNames(Map<String, ?> properties) {
            return MECHANISMS.toArray(new String[0]);
        }
    }

    private record Client(SaslClient client) implements SaslClient {

        @Override
        public byte[] evaluateChallenge(byte[] challenge) throws SaslException {
            if (!isBounded(challenge)) {
                throw new SaslException("too many iterations");
            }
            return client.evaluateChallenge(challenge);
        }

        @Override
        public String getMechanismName() {
            return client.getMechanismName();
        }

        @Override
        public boolean hasInitialResponse() {
            return client.hasInitialResponse();
        }

        @Override
        public boolean isComplete() {
            return client.isComplete();
        }

        @Override
        public byte[] unwrap(byte[] incoming, int offset, int length) throws SaslException {
            return client.unwrap(incoming, offset, length);
        }

        @Override
        public byte[] wrap(byte[] outgoing, int offset, int length) throws SaslException {
            return client.wrap(outgoing, offset, length);
        }

        @Override
        public Object getNegotiatedProperty(String name) {
            return client.getNegotiatedProperty(name);
        }

        @Override
        public void dispose() throws SaslException {
            client.dispose();
        }
    }
}
