package dev.annals.delivery;

import dev.annals.feed.Cursor;
import dev.annals.record.EncodedRecord;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.ssl.SslHandler;
import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.subscription.UniEmitter;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;
import io.vertx.core.net.SocketAddress;
import io.vertx.core.net.impl.NetSocketInternal;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * A syslog receiver, over TLS (RFC 5425) or TCP (RFC 6587, octet counting): each record is one {@link SyslogMessage}.
 *
 * <p>Syslog acknowledges nothing. But a receiver sees the end of a connection only behind everything that was sent, and then ends it
 * from its side. So each batch has a connection of its own, and is acknowledged when the receiver has ended that as it should: with TLS's
 * close_notify, which nobody on the way can forge, and without a reset, which is what a receiver's system sends that has bytes left that
 * no program has read. Without close_notify, another connection to the same receiver says whether it was killed.
 */
final class SyslogSink implements Sink {

    static final String PLAIN = "syslog";
    static final String ENCRYPTED = "syslog+tls";
    /** For receivers that end a connection without a word: then whoever can forge TCP's packets can do so as well. */
    private static final String LENIENT = "close_notify=optional";

    private static final int PLAIN_PORT = 514;
    private static final int ENCRYPTED_PORT = 6514;
    /** A receiver has nothing to say; a few bytes do no harm. */
    private static final int MAX_ANSWER_BYTES = 4_096;

    private final URI url;
    private final Targets targets;
    private final NetClient client;
    private final Duration limit;

    /** @param client encrypts where the URL says so */
    SyslogSink(NamedStream stream, Targets targets, NetClient client, Duration limit) {
        this.url = URI.create(stream.url());
        this.targets = targets;
        this.client = client;
        this.limit = limit;
    }

    /** As {@link Sink#check}. */
    static void check(String url, @Nullable String secret, BiConsumer<String, String> wrong) {
        URI uri = uri(url);
        if (uri == null
                || uri.getHost() == null
                || !(ENCRYPTED.equals(uri.getScheme()) || PLAIN.equals(uri.getScheme()))
                || uri.getRawUserInfo() != null
                || !"".equals(uri.getRawPath())
                || !(uri.getRawQuery() == null || (ENCRYPTED.equals(uri.getScheme()) && isLenient(uri)))
                || uri.getRawFragment() != null
                || uri.getPort() == 0
                || uri.getPort() > 65_535) {
            wrong.accept(
                    "url",
                    "It must be syslog+tls://host:port, optionally with ?close_notify=optional; syslog://host:port is for this"
                            + " machine's loopback alone.");
        }
        if (secret != null) {
            wrong.accept("secret", "It must be left out: syslog has none.");
        }
    }

    private static boolean isLenient(URI url) {
        return LENIENT.equals(url.getRawQuery());
    }

    private static @Nullable URI uri(String text) {
        try {
            return new URI(text);
        } catch (URISyntaxException e) {
            return null;
        }
    }

    /** Where the sink of such a URL is. */
    static String host(String url) {
        return HttpExchange.host(URI.create(url));
    }

    /** Whether the connections to such a URL are encrypted. */
    static boolean isEncrypted(String url) {
        return ENCRYPTED.equals(URI.create(url).getScheme());
    }

    @Override
    public Uni<Cursor> begin(Cursor known) {
        return Uni.createFrom().item(known);
    }

    @Override
    public Uni<Outcome> deliver(Batch batch) {
        return batch.records().isEmpty()
                ? Uni.createFrom().item(new Outcome.Taken("There was nothing to send."))
                : send(batch);
    }

    @Override
    public Uni<Outcome> test(Batch batch) {
        return send(batch);
    }

    @Override
    public void close() {
        // Each batch has a connection of its own.
    }

    private Uni<Outcome> send(Batch batch) {
        Buffer frames = Buffer.buffer();
        for (EncodedRecord record : batch.records()) {
            frames.appendString(record.length() + " ");
            record.appendTo(frames);
        }
        return targets.resolve(HttpExchange.host(url), isEncrypted(url.toString()))
                .chain(address -> isEncrypted(url.toString()) && !isLenient(url)
                        ? sent(address, frames)
                        : watched(address, frames))
                .ifNoItem()
                .after(limit)
                .recoverWithItem(() -> new Outcome.Failed(
                        "It did not read everything and end the connection within " + limit.toMillis() + " ms.", null))
                .onFailure()
                .recoverWithItem(failure -> new Outcome.Failed(told(failure), null));
    }

    private Uni<Outcome> sent(InetAddress address, Buffer frames) {
        return Uni.createFrom().emitter(emitter -> send(address, frames, emitter));
    }

    /**
     * Sends where no {@code close_notify} is required. If a receiver is killed after it has read everything and before it has stored it,
     * its operating system ends the connection just as the receiver would have. But then it has also ended another one, which nobody
     * had a reason to end. Whether that one is still there is known once somebody has accepted a third: that is either the same
     * receiver, or one that was started after all connections of the one before had ended.
     */
    private Uni<Outcome> watched(InetAddress address, Buffer frames) {
        return open(address)
                .chain(watch -> sent(address, frames)
                        .chain(outcome -> open(address)
                                .invoke(NetSocket::close)
                                .chain(() -> requireOpen(watch))
                                .replaceWith(outcome))
                        .onTermination()
                        .invoke(watch::close));
    }

    private Uni<NetSocket> open(InetAddress address) {
        return Uni.createFrom().emitter(emitter -> {
            AtomicBoolean isOver = new AtomicBoolean();
            emitter.onTermination(() -> isOver.set(true));
            client.connect(remote(address)).onFailure(emitter::fail).onSuccess(opened -> {
                if (isOver.get()) {
                    opened.close();
                } else {
                    emitter.complete(opened);
                }
            });
        });
    }

    private static Uni<Void> requireOpen(NetSocket watch) {
        Channel channel = ((NetSocketInternal) watch).channelHandlerContext().channel();
        return Uni.createFrom()
                .emitter(emitter -> channel.eventLoop()
                        // after what the operating system knows of it by now has been read
                        .schedule(() -> {}, 1, TimeUnit.MILLISECONDS)
                        .addListener(read -> {
                            if (channel.isActive()) {
                                emitter.complete(null);
                            } else {
                                emitter.fail(
                                        new SinkException(
                                                "It ended all its connections, so it may have been killed before it had stored everything."));
                            }
                        }));
    }

    private void send(InetAddress address, Buffer frames, UniEmitter<? super Outcome> emitter) {
        Connection connection = new Connection(frames, isLenient(url), emitter);
        emitter.onTermination(connection::end);
        client.connect(remote(address)).onFailure(emitter::fail).onSuccess(connection::begin);
    }

    /** The address that was found good: the name is for TLS alone. */
    private SocketAddress remote(InetAddress address) {
        int port = url.getPort() > 0 ? url.getPort() : isEncrypted(url.toString()) ? ENCRYPTED_PORT : PLAIN_PORT;
        try {
            return SocketAddress.inetSocketAddress(new InetSocketAddress(
                    InetAddress.getByAddress(HttpExchange.host(url), address.getAddress()), port));
        } catch (UnknownHostException e) {
            throw new IllegalStateException("an address has 4 or 16 bytes", e);
        }
    }

    /** A connection with one batch, and whether somebody still waits for its end. */
    private static final class Connection extends ChannelInboundHandlerAdapter {

        private final Buffer frames;
        private final boolean isLenient;
        private final UniEmitter<? super Outcome> emitter;
        private @Nullable ChannelHandlerContext transport;
        private boolean isOver;
        private volatile boolean isSent;
        private volatile boolean isReset;
        private int answered;

        Connection(Buffer frames, boolean isLenient, UniEmitter<? super Outcome> emitter) {
            this.frames = frames;
            this.isLenient = isLenient;
            this.emitter = emitter;
        }

        void begin(NetSocket connected) {
            Channel opened =
                    ((NetSocketInternal) connected).channelHandlerContext().channel();
            SslHandler tls = opened.pipeline().get(SslHandler.class);
            // In front of TLS, which would keep a reset behind close_notify to itself.
            opened.pipeline().addFirst(this);
            synchronized (this) {
                transport = opened.pipeline().context(this);
                if (isOver) {
                    end();
                    return;
                }
            }
            connected.handler(this::answered);
            connected.closeHandler(closed -> closed(tls));
            connected.write(frames).onFailure(emitter::fail).onSuccess(written -> endOutput(opened, tls));
        }

        private void endOutput(Channel channel, @Nullable SslHandler tls) {
            if (tls != null && tls.sslCloseFuture().isDone()) {
                emitter.fail(new SinkException("It ended the connection before it had everything."));
                return;
            }
            isSent = true;
            if (tls == null) {
                shutdown(channel);
            } else {
                tls.closeOutbound().addListener(told -> shutdown(channel));
            }
        }

        private void shutdown(Channel channel) {
            ((DuplexChannel) channel).shutdownOutput().addListener(done -> {
                if (!done.isSuccess()) {
                    emitter.fail(done.cause());
                }
            });
        }

        private void answered(Buffer part) {
            answered += part.length();
            if (answered > MAX_ANSWER_BYTES) {
                emitter.fail(new SinkException("It sends data, as a syslog receiver does not."));
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) throws Exception {
            isReset = true;
            super.exceptionCaught(context, cause);
        }

        private void closed(@Nullable SslHandler tls) {
            if (!isSent || isReset) {
                emitter.fail(new SinkException("It broke off the connection before it had read everything."));
            } else if (tls != null && !isLenient && !tls.sslCloseFuture().isSuccess()) {
                emitter.fail(new SinkException(
                        "It ended the connection without TLS's close_notify, which RFC 5425 requires; with ?" + LENIENT
                                + " that is taken for an end as well."));
            } else {
                emitter.complete(new Outcome.Taken("It has read everything, and ended the connection."));
            }
        }

        /** At once: a socket of Vert.x would first wait until everything is written, and so for whoever reads nothing. */
        synchronized void end() {
            isOver = true;
            if (transport != null) {
                transport.close().addListener(closed -> {});
            }
        }
    }

    @Override
    public String told(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause() == cause ? null : cause.getCause()) {
            if (cause instanceof Targets.RefusedTargetException || cause instanceof SinkException) {
                return String.valueOf(cause.getMessage());
            } else if (cause instanceof SSLException) {
                return "TLS fails: is its certificate trusted here, and for this name?";
            } else if (cause instanceof UnknownHostException) {
                return "Its host is not known.";
            }
        }
        return "No connection can be made, or it broke.";
    }
}
