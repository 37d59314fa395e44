package dev.annals.bench.service;

import dev.annals.bench.RecordColumns;
import dev.annals.bench.ordering.Variant;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.RecordReader;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.guid.SequentialGuid;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.pgclient.PgBuilder;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.sqlclient.Pool;
import io.vertx.sqlclient.PoolOptions;
import io.vertx.sqlclient.Tuple;
import java.util.List;
import java.util.UUID;

/**
 * The least that takes a record over HTTP and orders it by the published trigger: one transaction a request, on the
 * same HTTP server and PostgreSQL client as the service's. It checks no token, and does not say what number the record
 * got.
 */
public final class PublishedTriggerEndpoint {

    /** Environment variable: the database. */
    static final String URL = "BENCH_ENDPOINT_DATABASE_URL";
    /** Environment variable: the TCP port. */
    static final String LISTEN = "BENCH_ENDPOINT_PORT";

    /** As many connections as the service has. */
    private static final int POOL_SIZE = 16;

    private static final String INSERT = RecordColumns.insert(1);

    private final RecordReader reader = new RecordReader(new SequentialGuid());
    private final Pool pool;

    private PublishedTriggerEndpoint(Pool pool) {
        this.pool = pool;
    }

    /** Listens until it is killed. */
    public static void main(String... arguments) {
        DatabaseUrl url = DatabaseUrl.parse(System.getenv(URL));
        Vertx vertx = Vertx.vertx();
        Pool pool = PgBuilder.pool()
                .with(new PoolOptions().setMaxSize(POOL_SIZE))
                .connectingTo(new PgConnectOptions()
                        .setHost(url.host())
                        .setPort(url.port())
                        .setDatabase(url.database())
                        .setUser(url.user())
                        .setPassword(url.password())
                        .setCachePreparedStatements(true)
                        .addProperty("search_path", Variant.PUBLISHED.schema()))
                .using(vertx)
                .build();
        PublishedTriggerEndpoint endpoint = new PublishedTriggerEndpoint(pool);
        vertx.createHttpServer()
                .requestHandler(endpoint::answer)
                .listen(Integer.parseInt(System.getenv(LISTEN)), "127.0.0.1")
                .onFailure(failure -> System.exit(1));
    }

    private void answer(HttpServerRequest request) {
        if (request.path().equals("/ready")) {
            request.response().end();
            return;
        }
        UUID project = UUID.fromString(request.getHeader("Authorization").substring("Bearer ".length()));
        request.body()
                .compose(body -> append(project, body))
                .onSuccess(id -> request.response().setStatusCode(201).end("{\"id\": \"" + id + "\"}"))
                .onFailure(failure -> request.response().setStatusCode(500).end(failure.toString()));
    }

    private Future<UUID> append(UUID project, Buffer body) {
        AuditRecord record = reader.readRecord(body.getBytes());
        Tuple values = Tuple.tuple();
        RecordColumns.of(project, List.of(record)).forEach(values::addValue);
        return pool.preparedQuery(INSERT).execute(values).map(record.id());
    }
}
