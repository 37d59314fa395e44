package dev.annals.connection;

import dev.annals.config.AnnalsConfig;
import dev.annals.database.AnswerDeadline;
import dev.annals.database.DatabasePath;
import dev.annals.database.DatabaseUrl;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.ipfilter.IpFilterRuleType;
import io.netty.handler.ipfilter.IpSubnetFilterRule;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.SmallRyeConfig;
import io.vertx.core.impl.transports.JDKTransport;
import io.vertx.core.net.NetServerOptions;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.microprofile.config.Config;
import org.eclipse.microprofile.config.ConfigProvider;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Limits the number of connections, and watches each with a {@link ConnectionGuard}; those to the database get their {@link
 * AnswerDeadline}. Vert.x loads its transport as a service, and a transport configures every server and every client: nothing
 * else learns of connections before their first request.
 */
@RegisterForReflection
public final class ConnectionLimits extends JDKTransport {

    private static final Logger LOG = Logger.getLogger(ConnectionLimits.class);
    private static final long HEAP_BYTES_PER_CONNECTION = 32_768;
    private static final int MOST_BY_DEFAULT = 32_768;
    private static final long WARN_NANOS = TimeUnit.MINUTES.toNanos(1);

    private @Nullable DatabasePath database;

    @Override
    public ChannelFactory<? extends Channel> channelFactory(boolean domainSocket) {
        // The only connections that the service itself opens are those to the database.
        return AnswerDeadline.on(
                super.channelFactory(domainSocket),
                ConfigProvider.getConfig()
                        .unwrap(SmallRyeConfig.class)
                        .getConfigMapping(AnnalsConfig.class)
                        .database(),
                database());
    }

    // Not with the transport, which is made before the service's own database has its URL.
    private synchronized DatabasePath database() {
        if (database == null) {
            Config config = ConfigProvider.getConfig();
            boolean severalServers = config.getOptionalValue("annals.read-database-url", String.class)
                            .isPresent()
                    || DatabaseUrl.configured(config)
                            .filter(url -> url.servers().size() > 1)
                            .isPresent();
            database = new DatabasePath(severalServers);
        }
        return database;
    }

    @Override
    public void configure(NetServerOptions options, boolean domainSocket, ServerBootstrap bootstrap) {
        super.configure(options, domainSocket, bootstrap);
        if (!domainSocket) {
            SmallRyeConfig config = ConfigProvider.getConfig().unwrap(SmallRyeConfig.class);
            bootstrap.handler(new Door(
                    config.getConfigMapping(ConnectionConfig.class),
                    config.getConfigMapping(AnnalsConfig.class).trustedProxies()));
        }
    }

    /** Comes before the handler that accepts the connections of one port. */
    @Sharable
    private static final class Door extends ChannelInboundHandlerAdapter {
        private final ConnectionConfig config;
        private final int max;
        private final List<IpSubnetFilterRule> proxies;
        private final AtomicInteger open = new AtomicInteger();
        private final AtomicInteger largeHeads = new AtomicInteger();
        private final Map<String, Integer> openOf = new ConcurrentHashMap<>();
        private long warned = System.nanoTime() - WARN_NANOS;

        Door(ConnectionConfig config, List<String> trustedProxies) {
            this.config = config;
            this.max = config.max() > 0
                    ? config.max()
                    : (int) Math.min(MOST_BY_DEFAULT, Runtime.getRuntime().maxMemory() / HEAP_BYTES_PER_CONNECTION);
            this.proxies = trustedProxies.stream().map(Door::rule).toList();
        }

        private static IpSubnetFilterRule rule(String proxy) {
            int slash = proxy.indexOf('/');
            String address = slash < 0 ? proxy : proxy.substring(0, slash);
            int bits = slash >= 0 ? Integer.parseInt(proxy.substring(slash + 1)) : address.indexOf(':') < 0 ? 32 : 128;
            return new IpSubnetFilterRule(address, bits, IpFilterRuleType.ACCEPT);
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            Channel connection = (Channel) message;
            if (!(connection.remoteAddress() instanceof InetSocketAddress from)) {
                // It is closed already.
                connection.unsafe().closeForcibly();
                return;
            }
            boolean proxy = proxies.stream().anyMatch(rule -> rule.matches(from));
            String address = ClientAddress.of(from.getAddress());
            if (!proxy && openOf.merge(address, 1, Integer::sum) > config.perAddress()) {
                leave(address);
                refuse(connection, "from one address (annals.connections.per-address)");
                return;
            }
            if (open.incrementAndGet() > max) {
                open.decrementAndGet();
                if (!proxy) {
                    leave(address);
                }
                refuse(connection, "in all (annals.connections.max)");
                return;
            }
            connection.closeFuture().addListener(closed -> {
                open.decrementAndGet();
                if (!proxy) {
                    leave(address);
                }
            });
            connection.pipeline().addLast(new ConnectionGuard(config, largeHeads));
            context.fireChannelRead(message);
        }

        private void leave(String address) {
            openOf.computeIfPresent(address, (same, count) -> count == 1 ? null : (Integer) (count - 1));
        }

        private void refuse(Channel connection, String which) {
            connection.unsafe().closeForcibly();
            long now = System.nanoTime();
            if (now - warned >= WARN_NANOS) {
                warned = now;
                LOG.warnf("Refusing connections: the limit is reached %s", which);
            }
        }
    }
}
