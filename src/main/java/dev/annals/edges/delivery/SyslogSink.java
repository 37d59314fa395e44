package dev.annals.edges.delivery;

import dev.annals.core.record.RecordEncoder.EncodedRecord;
import io.smallrye.mutiny.Uni;
import io.vertx.core.WorkerExecutor;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
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

    private final URI url;
    private final Targets targets;
    private final WorkerExecutor workers;
    private final Duration limit;

    /** @param workers the threads that connections block, one for each batch under way */
    SyslogSink(NamedStream stream, Targets targets, WorkerExecutor workers, Duration limit) {
        this.url = URI.create(stream.url());
        this.targets = targets;
        this.workers = workers;
        this.limit = limit;
    }

    /** As {@link SinkType#check}. */
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
    public Uni<Outcome> test(Batch batch) {
        Buffer frames = Buffer.buffer();
        for (EncodedRecord record : batch.records()) {
            frames.appendString(record.length() + " ");
            record.appendTo(frames);
        }
        return targets.resolve(HttpExchange.host(url), isEncrypted(url.toString()))
                .chain(address -> send(address, ByteBuffer.wrap(frames.getBytes())))
                .ifNoItem()
                .after(limit)
                .recoverWithItem(() -> new Outcome.Failed(
                        "It did not read everything and end the connection within " + limit.toMillis() + " ms.", null))
                .onFailure()
                .recoverWithItem(failure -> new Outcome.Failed(explain(failure), null));
    }

    private Uni<Outcome> send(InetAddress address, ByteBuffer frames) {
        return Uni.createFrom().emitter(emitter -> {
            Attempt attempt = new Attempt(address);
            emitter.onTermination(attempt::close);
            workers.executeBlocking(() -> attempt.send(frames), false)
                    .onFailure(emitter::fail)
                    .onSuccess(emitter::complete);
        });
    }

    /** A batch on its way. Its end closes the connections, which ends what waits for them. */
    private final class Attempt implements AutoCloseable {

        private final InetAddress address;
        private final List<SyslogConnection> connections = new ArrayList<>();
        private boolean isOver;

        Attempt(InetAddress address) {
            this.address = address;
        }

        /**
         * If a receiver is killed after it has read everything and before it has stored it, its operating system ends the connection just
         * as the receiver would have. But then it has also ended another one, which no receiver has a reason to end. So where no
         * {@code close_notify} is required, another connection is open meanwhile. It is looked at once a third one is accepted: by that
         * receiver, or by one that was started after all connections of the one before had ended.
         */
        Outcome send(ByteBuffer frames) throws IOException {
            try (this) {
                if (isEncrypted(url.toString()) && !isLenient(url)) {
                    return write(frames);
                }
                SyslogConnection watch = open();
                Outcome outcome = write(frames);
                open().close();
                if (!isOpen(watch)) {
                    throw new SinkException(
                            "It ended all its connections, so it may have been killed before it had stored everything.");
                }
                return outcome;
            }
        }

        private SyslogConnection open() throws IOException {
            int port = url.getPort() > 0 ? url.getPort() : isEncrypted(url.toString()) ? ENCRYPTED_PORT : PLAIN_PORT;
            SyslogConnection connection = new SyslogConnection(
                    isEncrypted(url.toString()) ? TlsClients.engine(HttpExchange.host(url), port) : null);
            synchronized (this) {
                connections.add(connection);
                if (isOver) {
                    close();
                }
            }
            // The address that was found good: the name is for TLS alone.
            connection.connect(new InetSocketAddress(address, port));
            return connection;
        }

        private Outcome write(ByteBuffer frames) throws IOException {
            SyslogConnection connection = open();
            connection.write(frames);
            if (!isOpen(connection)) {
                throw new SinkException("It ended the connection before it had everything.");
            }
            connection.endOutput();
            boolean isEnded;
            try {
                isEnded = connection.awaitEnd();
            } catch (SSLException e) {
                throw e;
            } catch (IOException e) {
                throw new SinkException("It broke off the connection before it had read everything.");
            }
            if (!isEnded && !isLenient(url)) {
                throw new SinkException(
                        "It ended the connection without TLS's close_notify, which RFC 5425 requires; with ?" + LENIENT
                                + " that is taken for an end as well.");
            }
            return new Outcome.Delivered("It has read everything, and ended the connection.");
        }

        private static boolean isOpen(SyslogConnection connection) {
            try {
                return connection.isOpen();
            } catch (IOException e) {
                return false;
            }
        }

        @Override
        public synchronized void close() {
            isOver = true;
            connections.forEach(SyslogConnection::close);
        }
    }

    @Override
    public String explain(Throwable failure) {
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
