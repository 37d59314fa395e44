package dev.annals.kernel.quarantine;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;
import io.vertx.core.impl.VertxBuilder;
import java.time.Duration;
import java.util.function.Predicate;

/**
 * Event loops for connections to untrusted servers. Their computations do not delay requests; a {@link PostgresGuard} checks the
 * messages of databases.
 */
public final class ClientLoops {

    private ClientLoops() {}

    /**
     * The caller closes the loops.
     *
     * @param loginTime for the login to a database
     * @param scram whether to answer this first message of a database's SCRAM, which sets the number of iterations
     */
    public static Vertx start(int loops, int workers, Duration loginTime, Predicate<byte[]> scram) {
        VertxOptions options = new VertxOptions()
                .setEventLoopPoolSize(loops)
                .setWorkerPoolSize(workers)
                .setUseDaemonThread(true)
                .setFileSystemOptions(
                        new FileSystemOptions().setFileCachingEnabled(false).setClassPathResolvingEnabled(false));
        return new VertxBuilder(options)
                .findTransport(new ClientTransport(loginTime, scram))
                .init()
                .vertx();
    }

    private static final class ClientTransport extends GuardedTransport {

        private final Duration loginTime;
        private final Predicate<byte[]> scram;

        ClientTransport(Duration loginTime, Predicate<byte[]> scram) {
            this.loginTime = loginTime;
            this.scram = scram;
        }

        @Override
        public ChannelFactory<? extends Channel> channelFactory(boolean domainSocket) {
            ChannelFactory<? extends Channel> plain = super.channelFactory(domainSocket);
            return () -> {
                Channel channel = plain.newChannel();
                channel.pipeline().addLast(new PostgresGuard(scram));
                return channel;
            };
        }

        @Override
        protected Duration loginTime() {
            return loginTime;
        }

        @Override
        protected ConnectionRules rules() {
            throw new UnsupportedOperationException("a client accepts no connections");
        }
    }
}
