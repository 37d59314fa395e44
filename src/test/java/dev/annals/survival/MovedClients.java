package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.annals.Await;
import dev.annals.SqlFixture;
import dev.annals.survival.Verdict.Entry;
import java.io.IOException;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/**
 * The other clients of a project that moves: writers of batches, NDJSON, numbered records, many requests at a time, INSERT and COPY;
 * readers of events and exports, a stream's sink, and an administrator.
 */
final class MovedClients implements AutoCloseable {

    static final String FEED = "/v1/project-logs";
    static final String SEQUENCE = "numbers";
    private static final String RECORD = "{\"action\": \"%s\", \"message\": \"m\", \"id\": \"%s\"%s}";
    private static final int IN_FLIGHT = 8;
    private static final int EXPORTED = 2_000;

    private final Clients clients;
    private final ManyDatabases databases;
    private final UUID project;
    private final long pauseMillis;
    private final HttpClient http = HttpClient.newHttpClient();
    private final ObjectMapper json = new ObjectMapper();
    private final HttpServer sink;
    /** Records with a message. */
    private final Queue<UUID> redactable = new ConcurrentLinkedQueue<>();

    private final List<UUID> redacted = Collections.synchronizedList(new ArrayList<>());
    private final List<Entry> delivered = Collections.synchronizedList(new ArrayList<>());
    private final List<Exported> exports = Collections.synchronizedList(new ArrayList<>());
    private int retentionDays = 20_000;
    private int holds;

    /** The records of one export, which began after a sequence id. */
    private record Exported(int after, List<Entry> records) {}

    /** @param pauseMillis the pause of each client after a request */
    MovedClients(Clients clients, ManyDatabases databases, UUID project, long pauseMillis) throws IOException {
        this.clients = clients;
        this.databases = databases;
        this.project = project;
        this.pauseMillis = pauseMillis;
        sink = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        sink.createContext("/", this::receive);
        sink.setExecutor(Executors.newCachedThreadPool());
        sink.start();
    }

    /** Defines a sequence and a stream, and lets all of them begin. */
    void start() throws Exception {
        put("/v1/sequences/" + SEQUENCE, "{\"kind\": \"SYNCHRONOUS\"}");
        put(
                "/v1/streams/sink",
                "{\"sink\": {\"type\": \"webhook\", \"url\": \"http://127.0.0.1:"
                        + sink.getAddress().getPort()
                        + "/\", \"secret\": \"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\"}}");
        clients.also(() -> write(1, this::batch));
        clients.also(() -> write(5, this::batch));
        clients.also(() -> write(10, this::lines));
        clients.also(() -> write(1, this::numbered));
        clients.also(() -> write(IN_FLIGHT, this::together));
        for (boolean copy : List.of(false, true)) {
            clients.also(() -> {
                try (SqlWriter writer = new SqlWriter(copy)) {
                    return write(copy ? 10 : 2, writer::write);
                }
            });
        }
        clients.also(this::administer);
        clients.also(this::export);
        for (int instance = 0; instance < 2; instance++) {
            EventReader reader = new EventReader(instance);
            clients.alsoReads(reader::read);
        }
    }

    private void put(String path, String body) throws Exception {
        HttpResponse<String> answer = http.send(
                clients.to(path)
                        .header("Content-Type", "application/json")
                        .PUT(BodyPublishers.ofString(body))
                        .build(),
                BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(201);
    }

    private void pause() throws InterruptedException {
        TimeUnit.MILLISECONDS.sleep(pauseMillis);
    }

    // --- Writers ---

    private interface Append {
        /** Returns whether all are stored. */
        boolean write(List<UUID> ids) throws Exception;
    }

    private Void write(int records, Append append) throws Exception {
        while (clients.isWriting()) {
            List<UUID> ids = Stream.generate(UUID::randomUUID).limit(records).toList();
            while (!append.write(ids)) {
                if (!clients.isWriting()) {
                    // Unanswered records may be stored, or not.
                    return null;
                }
            }
            pause();
        }
        return null;
    }

    private static String record(String action, UUID id, String more) {
        return RECORD.formatted(action, id, more);
    }

    private HttpRequest post(String path, String type, String body) {
        return clients.to(path)
                .header("Content-Type", type)
                .POST(BodyPublishers.ofString(body))
                .build();
    }

    private boolean batch(List<UUID> ids) throws Exception {
        String records =
                String.join(",", ids.stream().map(id -> record("batch", id, "")).toList());
        JsonNode answer =
                clients.ask(() -> post(FEED + "/batch", "application/json", "{\"records\": [" + records + "]}"));
        if (answer == null) {
            return false;
        }
        answer.get("results")
                .forEach(stored -> clients.told(
                        UUID.fromString(stored.get("id").textValue()),
                        stored.get("sequence_id").longValue()));
        redactable.add(ids.get(0));
        return true;
    }

    private boolean lines(List<UUID> ids) throws Exception {
        String lines =
                String.join("\n", ids.stream().map(id -> record("line", id, "")).toList());
        JsonNode answer = clients.ask(() -> post(FEED + "/import", "application/x-ndjson", lines));
        if (answer == null) {
            return false;
        }
        if (answer.get("stored").intValue() + answer.get("stored_before").intValue() < ids.size()) {
            if (!clients.isExplained()) {
                clients.notExplained("NDJSON: " + answer);
            }
            return false;
        }
        ids.forEach(id -> clients.told(id, Verdict.UNKNOWN));
        return true;
    }

    private boolean numbered(List<UUID> ids) throws Exception {
        UUID id = ids.get(0);
        String number = ", \"number\": {\"sequence\": \"" + SEQUENCE + "\"}";
        JsonNode answer = clients.ask(() -> post(FEED, "application/json", record("numbered", id, number)));
        if (answer != null) {
            clients.told(id, answer.get("sequence_id").longValue());
        }
        return answer != null;
    }

    /** As an application that waits for none of its records before it sends the next. */
    private boolean together(List<UUID> ids) {
        boolean explained = clients.isExplained();
        List<CompletableFuture<Boolean>> sent = ids.stream()
                .map(id -> http.sendAsync(
                                post(FEED, "application/json", record("together", id, "")), BodyHandlers.ofString())
                        .handle((answer, failure) -> isStored(id, answer, failure, explained)))
                .toList();
        return sent.stream().map(CompletableFuture::join).reduce(true, Boolean::logicalAnd);
    }

    private boolean isStored(
            UUID id, @Nullable HttpResponse<String> answer, @Nullable Throwable failure, boolean explained) {
        if (answer != null && answer.statusCode() < 300) {
            try {
                clients.told(id, json.readTree(answer.body()).get("sequence_id").longValue());
                return true;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        boolean misdirected = answer != null && answer.statusCode() == 421;
        if (misdirected || (!explained && !clients.isExplained())) {
            clients.notExplained(answer == null ? String.valueOf(failure) : answer.statusCode() + " " + answer.body());
        }
        return false;
    }

    /** Goes where the database says, with the same records. */
    private final class SqlWriter implements AutoCloseable {

        private final boolean copies;
        private String database = ManyDatabases.HOME;
        private @Nullable Connection connection;

        SqlWriter(boolean copies) {
            this.copies = copies;
        }

        boolean write(List<UUID> ids) throws Exception {
            boolean explained = clients.isExplained();
            Connection open = connection;
            try {
                if (open == null) {
                    open = databases.connect(database, "annals_writer");
                    connection = open;
                    open.setAutoCommit(false);
                }
                if (copies) {
                    copy(open, ids);
                } else {
                    insert(open, ids);
                }
                open.commit();
            } catch (SQLException e) {
                String state = String.valueOf(e.getSQLState());
                boolean stored = state.equals("23505") && e.getMessage().contains("audit_record_pkey");
                if (!stored) {
                    if (!state.equals("AN307") && !explained && !clients.isExplained()) {
                        clients.notExplained("SQL in " + database + ": " + state + " " + e.getMessage());
                    }
                    if (open == null) {
                        pause();
                    } else {
                        goOn(open);
                    }
                    return false;
                }
                // Its connection ended before the commit was answered.
                goOn(open);
            }
            ids.forEach(id -> clients.told(id, Verdict.UNKNOWN));
            return true;
        }

        private void copy(Connection open, List<UUID> ids) throws SQLException, IOException {
            StringBuilder rows = new StringBuilder();
            ids.forEach(id -> rows.append(project).append('\t').append(id).append("\tcopied\n"));
            open.unwrap(PGConnection.class)
                    .getCopyAPI()
                    .copyIn(
                            "copy annals.audit_record (project_id, id, action) from stdin",
                            new StringReader(rows.toString()));
        }

        private void insert(Connection open, List<UUID> ids) throws SQLException {
            SqlFixture.execute(
                    open,
                    "insert into annals.audit_record (project_id, id, action, number_sequence) select '" + project
                            + "', id, 'inserted', '" + SEQUENCE + "' from unnest('{"
                            + String.join(",", ids.stream().map(UUID::toString).toList()) + "}'::uuid[]) as id");
        }

        private void goOn(Connection open) throws InterruptedException {
            try {
                open.rollback();
                List<String> place = SqlFixture.texts(
                        open,
                        "select placement || ' ' || coalesce(database, '') from annals.where_is('" + project + "')");
                open.rollback();
                if (place.get(0).startsWith("gone ")) {
                    close();
                    database = place.get(0).substring("gone ".length());
                } else {
                    TimeUnit.MILLISECONDS.sleep(1);
                }
            } catch (SQLException e) {
                close();
                pause();
            }
        }

        @Override
        public void close() {
            if (connection != null) {
                try {
                    connection.abort(Runnable::run);
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
                connection = null;
            }
        }
    }

    // --- The administrator ---

    private Void administer() throws Exception {
        int step = 0;
        while (clients.isWriting()) {
            int n = step;
            boolean done = switch (n % 4) {
                case 0 -> redact();
                case 1 -> retain(20_000 + n % 10_000);
                case 2 -> hold();
                default ->
                    clients.ask(() -> clients.to("/v1/alerts/alert")
                                    .header("Content-Type", "application/json")
                                    .PUT(BodyPublishers.ofString("{\"q\": \"action:none\", \"threshold\": " + n
                                            + ", \"interval_seconds\": 60}"))
                                    .build())
                            != null;
            };
            step += done ? 1 : 0;
            pause();
        }
        return null;
    }

    private @Nullable JsonNode change(String method, String path, String body) throws InterruptedException {
        return clients.ask(() -> clients.to("/v1/projects/" + project + path)
                .setHeader("Authorization", "Bearer " + Instances.ADMIN)
                .header("Content-Type", "application/json")
                .method(method, BodyPublishers.ofString(body))
                .build());
    }

    private boolean redact() throws InterruptedException {
        UUID id = redactable.peek();
        if (id == null) {
            return true;
        }
        String body = "{\"fields\": [\"message\"], \"reason\": \"r\"}";
        if (clients.ask(() -> post(FEED + "/" + id + "/redactions", "application/json", body)) == null) {
            return false;
        }
        redacted.add(id);
        // One of many, so that there are always some.
        for (int i = 0; i < 20 && redactable.size() > 1; i++) {
            redactable.remove();
        }
        return true;
    }

    private boolean retain(int days) throws InterruptedException {
        if (change("PATCH", "", "{\"retention_days\": " + days + "}") == null) {
            return false;
        }
        retentionDays = days;
        return true;
    }

    private boolean hold() throws InterruptedException {
        JsonNode hold = change("POST", "/holds", "{\"actor_id\": \"no actor\", \"reason\": \"r\"}");
        if (hold == null) {
            return false;
        }
        String lift = "/holds/" + hold.get("id").textValue() + "/lift";
        while (clients.isWriting() && change("POST", lift, "{\"reason\": \"r\"}") == null) {
            pause();
        }
        holds++;
        return true;
    }

    // --- Readers ---

    /** A listener to one instance, also after it was started again. */
    private final class EventReader {

        private final int instance;
        private final List<Entry> entries = Collections.synchronizedList(new ArrayList<>());
        private @Nullable String last;

        EventReader(int instance) {
            this.instance = instance;
        }

        List<Entry> read() throws Exception {
            Thread listener = new Thread(this::listen);
            listener.start();
            try {
                while (!clients.isAll(entries.size()) && listener.isAlive()) {
                    TimeUnit.MILLISECONDS.sleep(20);
                }
            } finally {
                listener.interrupt();
            }
            return List.copyOf(entries);
        }

        private void listen() {
            try {
                while (!clients.isAll(entries.size())) {
                    boolean explained = clients.isExplained();
                    String end = "the end of the events";
                    try {
                        HttpRequest.Builder request = clients.to(FEED + "/stream")
                                .uri(databases.instances().get(instance).uri(FEED + "/stream"))
                                .header("Accept", "text/event-stream");
                        if (last != null) {
                            request.header("Last-Event-ID", last);
                        }
                        HttpResponse<Stream<String>> answer = http.send(request.build(), BodyHandlers.ofLines());
                        end = answer.statusCode() + " " + end;
                        answer.body().forEach(this::take);
                    } catch (IOException | UncheckedIOException e) {
                        end = e.toString();
                    }
                    if (!explained && !clients.isExplained()) {
                        clients.notExplained("events: " + end);
                    }
                    pause();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private void take(String line) {
            if (line.startsWith("id: ")) {
                last = line.substring("id: ".length());
            } else if (line.startsWith("data: ")) {
                JsonNode record = parse(line.substring("data: ".length()));
                if (record.has("sequence_id")) {
                    entries.add(entry(record));
                } else if (!clients.isExplained()) {
                    clients.notExplained("events: " + line);
                }
            }
        }
    }

    private JsonNode parse(String text) {
        try {
            return json.readTree(text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Entry entry(JsonNode record) {
        return new Entry(
                record.get("sequence_id").longValue(),
                UUID.fromString(record.get("id").textValue()));
    }

    private Void export() throws Exception {
        int end = 0;
        while (clients.isWriting()) {
            boolean explained = clients.isExplained();
            int after = Math.max(0, end - EXPORTED);
            List<Entry> records = new ArrayList<>();
            String failure = null;
            try {
                HttpResponse<Stream<String>> answer = http.send(
                        clients.to(FEED + "/export" + (after == 0 ? "" : "?cursor=" + after))
                                .build(),
                        BodyHandlers.ofLines());
                if (answer.statusCode() == 200) {
                    answer.body().forEach(line -> records.add(entry(parse(line))));
                } else {
                    failure = answer.statusCode() + " "
                            + String.join("\n", answer.body().toList());
                }
            } catch (IOException | UncheckedIOException e) {
                failure = e.toString();
            }
            if (failure == null) {
                exports.add(new Exported(after, records));
                end = after + records.size();
            } else if (!explained && !clients.isExplained()) {
                clients.notExplained("export: " + failure);
            }
            pause();
        }
        return null;
    }

    private void receive(HttpExchange exchange) throws IOException {
        JsonNode body = json.readTree(exchange.getRequestBody().readAllBytes());
        body.get("records").forEach(record -> delivered.add(entry(record)));
        exchange.sendResponseHeaders(200, -1);
        exchange.close();
    }

    // --- The end ---

    /** Compares with the feed, after {@link Clients#end}. */
    void requireSound(SqlFixture database) throws Exception {
        List<Entry> feed = clients.feed();
        assertThat(exports).isNotEmpty();
        for (Exported export : exports) {
            assertThat(export.records).isEqualTo(feed.subList(export.after, export.after + export.records.size()));
        }
        Await.until("the sink has the whole feed", () -> firsts().size() >= feed.size());
        assertThat(firsts()).as("the first delivery of each record").isEqualTo(feed);
        assertThat(redacted).isNotEmpty();
        assertThat(database.number("select count(*) from annals.feed where project_id = '" + project
                        + "' and action = 'batch' and message is null"))
                .as("redacted records")
                .isGreaterThanOrEqualTo(redacted.size());
        assertThat(database.number("select count(*) from annals.audit_record where project_id = '" + project
                        + "' and message is not null and id = any ('{"
                        + String.join(",", redacted.stream().map(UUID::toString).toList()) + "}')"))
                .as("redacted records with their message")
                .isZero();
        assertThat(database.number("select count(*) from annals.legal_hold where project_id = '" + project + "'"))
                .isGreaterThanOrEqualTo(holds);
        assertThat(database.number("select retention_days from annals.project where id = '" + project + "'"))
                .isEqualTo(retentionDays);
        assertThat(database.text("select count(*) = max(number_value) and bool_and(next) from (select number_value,"
                        + " number_value = row_number() over (order by sequence_id) as next from annals.feed where"
                        + " project_id = '" + project + "' and number_value is not null) as numbered"))
                .as("numbers without a gap, in the order of the feed")
                .isEqualTo("t");
        assertThat(database.checkFeed(project)).isEqualTo(feed.size());
    }

    /** The first delivery of each record, in the order of deliveries. */
    private List<Entry> firsts() {
        List<Entry> firsts = new ArrayList<>();
        Set<Entry> seen = new HashSet<>();
        synchronized (delivered) {
            delivered.forEach(entry -> {
                if (seen.add(entry)) {
                    firsts.add(entry);
                }
            });
        }
        return firsts;
    }

    @Override
    public void close() {
        sink.stop(0);
    }
}
