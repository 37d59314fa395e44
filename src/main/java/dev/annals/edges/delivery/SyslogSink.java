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
 * <p>Syslog has no acknowledgements: a successful write only means that this machine's system has the bytes. Each batch therefore has a
 * connection of its own, and the service closes the sending direction after the last byte. The receiver finds that end only after it has
 * read every byte, and then closes its own direction. This is the acknowledgement. With TLS it must be a close_notify, which an attacker on
 * the way cannot forge. A reset is none: a system sends it if no program has read all bytes. Without a close_notify, a second connection
 * shows whether the receiver was killed: see {@link Attempt#send}.
 */
final class SyslogSink implements Sink {

    static final String PLAIN = "syslog";
    static final String ENCRYPTED = "syslog+tls";
    /** For receivers that send no close_notify. An attacker who can forge TCP packets can then forge an acknowledgement. */
    private static final String LENIENT = "close_notify=optional";

    private static final int PLAIN_PORT = 514;
    private static final int ENCRYPTED_PORT = 6514;

    private final URI url;
    private final Targets targets;
    private final WorkerExecutor workers;
    private final Duration limit;

    /** @param workers each batch blocks one */
    SyslogSink(NamedStream stream, Targets targets, WorkerExecutor workers, Duration limit) {
        this.url = URI.create(stream.url());
        this.targets = targets;
        this.workers = workers;
        this.limit = limit;
    }

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

    static String host(String url) {
        return HttpExchange.host(URI.create(url));
    }

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

    /** One try to deliver a batch. {@link #close} closes its connections, which ends blocked calls. */
    private final class Attempt implements AutoCloseable {

        private final InetAddress address;
        private final List<SyslogConnection> connections = new ArrayList<>();
        private boolean isOver;

        Attempt(InetAddress address) {
            this.address = address;
        }

        /**
         * If a receiver is killed after it has read the batch and before it has stored it, its system closes the connection exactly as the
         * receiver would. Unless a {@code close_notify} rules this out, a second connection is open meanwhile: a killed receiver loses it,
         * and a living one has no reason to close it. It is checked after a third connection was accepted. Without the third one, the check
         * could come before the system has closed the second.
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
            // The allowed address: only TLS uses the name.
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
                throw new SinkException("It ended the connection without TLS's close_notify, which RFC 5425 requires; ?"
                        + LENIENT + " accepts such an end, too.");
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
