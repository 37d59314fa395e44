package dev.annals.edges.delivery;

import dev.annals.core.feed.Cursor;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.quarantine.AnswerDeadline;
import dev.annals.kernel.quarantine.RefusedAnswerException;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.KeyCertOptions;
import io.vertx.core.net.SocketAddress;
import io.vertx.core.net.TrustOptions;
import io.vertx.mutiny.sqlclient.SqlConnection;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.pgclient.PgConnection;
import io.vertx.pgclient.PgException;
import io.vertx.pgclient.SslMode;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Two tables in another database, {@code annals_record} and {@code annals_cursor}. One transaction there writes a batch and the cursor
 * after it, and only if the stored cursor is the one before it. Each record is therefore stored exactly once, even if an instance dies
 * after that commit, or if two instances believe that they hold the lease.
 */
final class PostgresSink implements Sink {

    private static final Sql MAKE_SINK_TABLES = Sql.named("edges/delivery/make_sink_tables");
    private static final Sql FIND_SINK_CURSOR = Sql.named("edges/delivery/find_sink_cursor");
    private static final Sql ADD_TO_SINK = Sql.named("edges/delivery/add_to_sink");
    private static final String SSL_MODE = "sslmode";
    /** libpq's way to require a client certificate. It is the only parameter then, and the server's certificate is checked. */
    private static final String WITH_CERTIFICATE = "?sslcertmode=require";

    private static final Pattern STATE = Pattern.compile("[0-9A-Z]{5}");
    /** The default of sslmode, the only parameter that the URL may have. */
    private static final String VERIFIED = "verify-full";

    private final NamedStream stream;
    private final DatabaseUrl url;
    private final String password;
    private final Targets targets;
    private final OwnIdentity identity;
    private final Vertx vertx;
    private final Duration limit;
    private final AnswerDeadline deadline;
    private @Nullable SqlConnection connection;
    private boolean isClosed;

    PostgresSink(
            NamedStream stream, String password, Targets targets, OwnIdentity identity, Vertx vertx, Duration limit) {
        this.stream = stream;
        this.url = parse(stream.url());
        this.password = password;
        this.targets = targets;
        this.identity = identity;
        this.vertx = vertx;
        this.limit = limit;
        // The server ends a statement after the limit. If it does not answer either, this closes the connection.
        this.deadline = new AnswerDeadline(limit.multipliedBy(2), limit.multipliedBy(2), late -> {});
    }

    private static DatabaseUrl parse(String url) {
        int end = url.length() - (showsCertificate(url) ? WITH_CERTIFICATE.length() : 0);
        return DatabaseUrl.parse(url.substring(0, end));
    }

    static boolean showsCertificate(String url) {
        return url.indexOf('?') >= 0 && url.substring(url.indexOf('?')).equals(WITH_CERTIFICATE);
    }

    static void check(String url, @Nullable String secret, BiConsumer<String, String> wrong) {
        try {
            DatabaseUrl parsed = parse(url);
            if (!parsed.password().isEmpty()) {
                wrong.accept("url", "It must have no password, for it is shown: put that into secret.");
            } else if (parsed.servers().size() != 1
                    || parsed.parameters().keySet().stream().anyMatch(name -> !name.equals(SSL_MODE))) {
                wrong.accept("url", "It must name one server, and no parameter but sslmode or sslcertmode=require.");
            }
        } catch (IllegalArgumentException e) {
            wrong.accept(
                    "url",
                    "It must be postgresql://user@host:port/database, optionally with ?sslmode=require or ?sslcertmode=require.");
        }
        if (secret != null && secret.isEmpty()) {
            wrong.accept("secret", "It must not be empty: it is the password.");
        }
    }

    static String host(String url) {
        String host = parse(url).host();
        return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    }

    @Override
    public Uni<Cursor> begin(Cursor known) {
        return targets.resolve(host(stream.url()))
                .chain(address -> SinkLoops.blocking(vertx, () -> options(address)))
                .chain(this::connect)
                .chain(open -> MAKE_SINK_TABLES
                        .execute(open)
                        .chain(made -> place(known).execute(open))
                        .map(rows -> Cursor.parse(rows.iterator().next().getString("cursor"))
                                .orElse(known)))
                .ifNoItem()
                .after(limit)
                .failWith(() -> new SinkException(late()));
    }

    private Binds place(Cursor known) {
        return FIND_SINK_CURSOR
                .bind("stream_id", stream.id())
                .bind("project_id", stream.projectId())
                .bind("rewinds", stream.progress().rewinds())
                .bind("cursor", known.toString());
    }

    private Uni<SqlConnection> connect(PgConnectOptions options) {
        return Uni.createFrom()
                .emitter(emitter -> PgConnection.connect(vertx, options)
                        .onSuccess(opened -> emitter.complete(adopt(opened)))
                        .onFailure(emitter::fail));
    }

    /** If the sink was closed meanwhile, the connection is closed, too. */
    private synchronized SqlConnection adopt(PgConnection opened) {
        // Otherwise the driver logs notices and errors of the server, which may contain records.
        opened.noticeHandler(notice -> {}).exceptionHandler(failure -> {});
        SqlConnection watched = SqlConnection.newInstance(deadline.on(opened));
        connection = watched;
        if (isClosed) {
            close();
        }
        return watched;
    }

    /** Blocks: the client certificate is read. */
    private PgConnectOptions options(InetAddress address) throws GeneralSecurityException {
        boolean showsCertificate = showsCertificate(stream.url());
        boolean isNear = address.isLoopbackAddress() && !showsCertificate;
        String mode = url.parameters().getOrDefault(SSL_MODE, isNear ? "prefer" : VERIFIED);
        PgConnectOptions options = new PinnedOptions(address);
        options.setHost(url.host())
                .setPort(url.port())
                .setDatabase(url.database())
                .setUser(url.user())
                .setPassword(password)
                .setSslMode(SslMode.of(mode))
                .setTrustAll(!mode.equals(VERIFIED))
                .setHostnameVerificationAlgorithm(mode.equals(VERIFIED) ? "HTTPS" : "")
                .setConnectTimeout((int) limit.toMillis());
        if (mode.equals(VERIFIED)) {
            options.setTrustOptions(TrustOptions.wrap(TlsClients.trusted()));
        }
        if (showsCertificate) {
            options.setKeyCertOptions(KeyCertOptions.wrap(identity.certificate()));
        }
        String millis = Long.toString(limit.toMillis());
        options.addProperty("application_name", "annals")
                .addProperty("statement_timeout", millis)
                .addProperty("lock_timeout", millis)
                // A frozen instance must not lock the cursor while another one has taken over.
                .addProperty("idle_in_transaction_session_timeout", millis);
        return options;
    }

    /** Connects to the allowed address, without a second look-up of the name. */
    private static final class PinnedOptions extends PgConnectOptions {

        private final InetAddress address;

        PinnedOptions(InetAddress address) {
            this.address = address;
        }

        @Override
        public SocketAddress getSocketAddress() {
            try {
                return SocketAddress.inetSocketAddress(
                        new InetSocketAddress(InetAddress.getByAddress(getHost(), address.getAddress()), getPort()));
            } catch (UnknownHostException e) {
                throw new IllegalStateException("an address has 4 or 16 bytes", e);
            }
        }
    }

    @Override
    public Uni<Outcome> deliver(Batch batch) {
        return within(open -> add(open, batch), batch);
    }

    /** In a transaction that is rolled back. */
    @Override
    public Uni<Outcome> test(Batch batch) {
        return begin(batch.before())
                .chain(at -> within(
                        open -> open.begin()
                                .chain(begun -> add(open, new Batch(stream, batch.records(), at, at))
                                        .call(added -> begun.rollback())),
                        batch))
                .onFailure()
                .recoverWithItem(failure -> outcome(failure, batch));
    }

    private Uni<Outcome> within(Function<SqlConnection, Uni<Outcome>> work, Batch batch) {
        SqlConnection open = open();
        return work.apply(open)
                .ifNoItem()
                .after(limit)
                .recoverWithItem(() -> new Outcome.Failed(late(), null))
                .onFailure()
                .recoverWithItem(failure -> outcome(failure, batch));
    }

    private String late() {
        return "It did not answer within " + limit.toMillis() + " ms.";
    }

    private synchronized SqlConnection open() {
        if (connection == null) {
            throw new IllegalStateException("a sink begins before it delivers");
        }
        return connection;
    }

    // One statement is one transaction.
    private Uni<Outcome> add(SqlConnection open, Batch batch) {
        Long[] ids = batch.records().stream().map(EncodedRecord::sequenceId).toArray(Long[]::new);
        String[] records = batch.records().stream().map(PostgresSink::text).toArray(String[]::new);
        return ADD_TO_SINK
                .bind("stream_id", stream.id())
                .bind("project_id", stream.projectId())
                .bind("rewinds", stream.progress().rewinds())
                .bind("before", batch.before().toString())
                .bind("after", batch.after().toString())
                .bind("sequence_ids", ids)
                .bind("records", records)
                .execute(open)
                .map(rows ->
                        rows.iterator().hasNext() ? Outcome.Delivered.records(ids.length, "") : new Outcome.Moved());
    }

    private static String text(EncodedRecord record) {
        Buffer bytes = Buffer.buffer(record.length());
        record.appendTo(bytes);
        return bytes.toString(StandardCharsets.UTF_8);
    }

    /** Only the code is shown, because the server's message may contain parts of a record. */
    static Outcome outcome(Throwable failure, Batch batch) {
        if (failure instanceof PgException error) {
            String state = state(error);
            boolean refused =
                    state.startsWith("22") || (state.startsWith("23") && !DatabaseFailure.isTransient(failure));
            if (refused && !batch.records().isEmpty()) {
                return new Outcome.Refused(why(failure), false);
            }
        }
        return new Outcome.Failed(why(failure), null);
    }

    @Override
    public String explain(Throwable failure) {
        return why(failure);
    }

    private static String why(Throwable failure) {
        if (failure instanceof PgException error) {
            return "It answered with the error " + state(error) + ".";
        } else if (failure instanceof Targets.RefusedTargetException
                || failure instanceof RefusedAnswerException
                || failure instanceof SinkException) {
            return String.valueOf(failure.getMessage());
        } else if (failure instanceof UnknownHostException) {
            return "Its host is not known.";
        }
        return "No connection can be made, or it broke.";
    }

    /** The error code, if it is one: a hostile server may send any text. */
    private static String state(PgException error) {
        String state = String.valueOf(error.getSqlState());
        return STATE.matcher(state).matches() ? state : "without a code";
    }

    @Override
    public synchronized void close() {
        isClosed = true;
        SqlConnection open = connection;
        connection = null;
        if (open != null) {
            open.close().subscribe().with(closed -> {}, failure -> {});
            // A server that does not answer is disconnected.
            vertx.setTimer(limit.toMillis(), late -> AnswerDeadline.giveUp(open.getDelegate()));
        }
    }
}
