package dev.annals.kernel.quarantine;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.InternetProtocolFamily;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.vertx.core.net.NetServerOptions;
import io.vertx.core.spi.transport.Transport;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The JDK's sockets as Vert.x's transport, with {@link ConnectionRules} for incoming connections and a {@link LoginDeadline} for
 * outgoing ones. Vert.x shows a connection only with its first complete request, or after the login to a database; a transport
 * sees it from the start.
 */
public abstract class GuardedTransport implements Transport {

    /** Makes the rules of one port. */
    protected abstract ConnectionRules rules();

    /** For the login to a database. */
    protected abstract Duration loginTime();

    @Override
    public void configure(NetServerOptions options, boolean domainSocket, ServerBootstrap bootstrap) {
        Transport.super.configure(options, domainSocket, bootstrap);
        if (!domainSocket) {
            bootstrap.handler(new Admission(rules()));
        }
    }

    @Override
    public ChannelFactory<? extends Channel> channelFactory(boolean domainSocket) {
        requireInternet(domainSocket);
        long loginNanos = loginTime().toNanos();
        return () -> {
            Channel channel = new NioSocketChannel();
            channel.pipeline().addLast(new LoginDeadline(loginNanos));
            return channel;
        };
    }

    @Override
    public ChannelFactory<? extends ServerChannel> serverChannelFactory(boolean domainSocket) {
        requireInternet(domainSocket);
        return NioServerSocketChannel::new;
    }

    private static void requireInternet(boolean domainSocket) {
        if (domainSocket) {
            throw new IllegalArgumentException("The JDK's transport has no domain sockets.");
        }
    }

    @Override
    public EventLoopGroup eventLoopGroup(int type, int threads, ThreadFactory factory, int ioRatio) {
        NioEventLoopGroup group = new NioEventLoopGroup(threads, factory);
        group.setIoRatio(ioRatio);
        return group;
    }

    @Override
    public DatagramChannel datagramChannel() {
        return new NioDatagramChannel();
    }

    @Override
    public DatagramChannel datagramChannel(InternetProtocolFamily family) {
        return new NioDatagramChannel(family);
    }

    /** Runs before the handler that registers a port's connections. */
    @Sharable
    private static final class Admission extends ChannelInboundHandlerAdapter {
        private final ConnectionRules rules;
        private final AtomicInteger largeHeads = new AtomicInteger();
        private final UnsentAnswers unsentAnswers;

        Admission(ConnectionRules rules) {
            this.rules = rules;
            this.unsentAnswers = new UnsentAnswers(rules);
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            Channel connection = (Channel) message;
            // A closed connection has no address.
            if (!(connection.remoteAddress() instanceof InetSocketAddress from) || !rules.admit(from)) {
                connection.unsafe().closeForcibly();
                return;
            }
            var unused = connection.closeFuture().addListener(closed -> rules.left(from));
            connection.pipeline().addLast(new ConnectionGuard(rules, largeHeads, unsentAnswers));
            context.fireChannelRead(message);
        }
    }
}
