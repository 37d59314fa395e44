package dev.annals.kernel.connection;

import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.quarantine.ConnectionRules;
import dev.annals.kernel.quarantine.GuardedTransport;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.SmallRyeConfig;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.microprofile.config.ConfigProvider;
import org.jboss.logging.Logger;

/** Passes the limits of {@link ConnectionConfig} to the transport, which Vert.x loads as a service, without injection. */
@RegisterForReflection
public final class ConnectionLimits extends GuardedTransport {

    private static SmallRyeConfig config() {
        return ConfigProvider.getConfig().unwrap(SmallRyeConfig.class);
    }

    @Override
    protected Duration loginTime() {
        return config().getConfigMapping(AnnalsConfig.class).database().connectTimeout();
    }

    @Override
    protected ConnectionRules rules() {
        return new Port(
                config().getConfigMapping(ConnectionConfig.class),
                new TrustedProxies(config().getConfigMapping(AnnalsConfig.class)));
    }

    /** Requests with more than 4 KiB of an incomplete head: each takes up to 96 KiB. */
    static final int LARGE_HEADS = 128;

    private static final class Port implements ConnectionRules {

        private static final Logger LOG = Logger.getLogger(ConnectionLimits.class);
        private static final long HEAP_BYTES_PER_CONNECTION = 32_768;
        private static final int MOST_BY_DEFAULT = 32_768;
        /** The part of the heap's size that waiting answers may have. They are outside the heap. */
        private static final int UNSENT_PART = 8;

        private static final long WARN_NANOS = TimeUnit.MINUTES.toNanos(1);

        private final ConnectionConfig config;
        private final int max;
        private final long unsentBytes;
        private final TrustedProxies proxies;
        private final AtomicInteger open = new AtomicInteger();
        private final Map<String, Integer> openOf = new ConcurrentHashMap<>();
        /** By {@link System#nanoTime}: one warning must not hide another. */
        private final Map<String, Long> warned = new ConcurrentHashMap<>();

        private final byte[] tooSlow = answer(
                ProblemType.BODY_TOO_SLOW, "The head of the request was not complete in time. Send the request again.");
        private final byte[] tooManyHeads =
                answer(ProblemType.OVERLOADED, "Too many requests with long heads are coming in. Send it later.");

        Port(ConnectionConfig config, TrustedProxies proxies) {
            this.config = config;
            this.max = config.max() > 0
                    ? config.max()
                    : (int) Math.min(MOST_BY_DEFAULT, Runtime.getRuntime().maxMemory() / HEAP_BYTES_PER_CONNECTION);
            this.unsentBytes = config.unsentBytes() > 0
                    ? config.unsentBytes()
                    : Runtime.getRuntime().maxMemory() / UNSENT_PART;
            this.proxies = proxies;
        }

        private static byte[] answer(ProblemType type, String detail) {
            Problem problem = new ProblemException(type, detail).problem();
            String json = new String(problem.toJson(), StandardCharsets.US_ASCII);
            StringBuilder answer = new StringBuilder("HTTP/1.1 " + problem.status() + " " + problem.title() + "\r\n");
            problem.headers().forEach((name, value) -> answer.append(name + ": " + value + "\r\n"));
            answer.append("Content-Length: " + json.length() + "\r\nConnection: close\r\n\r\n" + json);
            return answer.toString().getBytes(StandardCharsets.US_ASCII);
        }

        @Override
        public boolean admit(InetSocketAddress from) {
            boolean limited = !proxies.include(from.getAddress());
            String address = ClientAddress.of(from.getAddress());
            if (limited && openOf.merge(address, 1, Integer::sum) > config.perAddress()) {
                leave(address);
                warn("Refusing connections: the limit is reached from one address (annals.connections.per-address)");
                return false;
            }
            if (open.incrementAndGet() > max) {
                left(from);
                warn("Refusing connections: the limit is reached in all (annals.connections.max)");
                return false;
            }
            return true;
        }

        @Override
        public void left(InetSocketAddress from) {
            open.decrementAndGet();
            if (!proxies.include(from.getAddress())) {
                leave(ClientAddress.of(from.getAddress()));
            }
        }

        private void leave(String address) {
            openOf.computeIfPresent(address, (same, count) -> count == 1 ? null : (Integer) (count - 1));
        }

        private void warn(String what) {
            long now = System.nanoTime();
            Long last = warned.get(what);
            if (last == null
                    ? warned.putIfAbsent(what, now) == null
                    : now - last >= WARN_NANOS && warned.replace(what, last, now)) {
                LOG.warn(what);
            }
        }

        @Override
        public Duration headTime() {
            return config.headTime();
        }

        @Override
        public Duration idleTime() {
            return config.idleTime();
        }

        @Override
        public int largeHeads() {
            return LARGE_HEADS;
        }

        @Override
        public long unsentBytes() {
            return unsentBytes;
        }

        @Override
        public void cutOff() {
            warn(
                    "Cutting off clients that take nothing of their answers: too much waits (annals.connections.unsent-bytes)");
        }

        @Override
        public byte[] tooSlow() {
            return tooSlow;
        }

        @Override
        public byte[] tooManyHeads() {
            return tooManyHeads;
        }
    }
}
