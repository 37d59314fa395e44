package dev.annals.core.feed;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.core.append.OtherInstance;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A load of writers and readers on three projects. 8 writers use REST and 8 use plain SQL: these hold their transactions open,
 * roll back, use savepoints, and write two projects. 6 readers follow {@code poll_more} without pause. With {@link #live}, 9
 * readers poll, wait and listen to streams, and their connections are cut at random. It records what was committed and what each
 * reader saw.
 */
public final class FeedLoad {

    private static final int WRITERS = 8;
    private static final int[] LIMITS = {1, 7, 200, 1, 7, 200};
    private static final int MAX_TRIES = 50;
    private static final Duration LIMIT = Duration.ofMinutes(2);
    private static final int PROJECTS = 3;
    private static final int MANY_PROJECTS = 16;
    private static final int WRITERS_OF_AN_INSTANCE = 3;

    private final AuditLogFixture log;
    private final URI service;
    private final List<Project> projects;
    private final boolean tolerateBrokenConnections;
    private final boolean checkVisible;
    private final HttpClient http = newClient();
    // A separate client, because an aborted request may break the connection of the next one.
    private final HttpClient cutting = newClient();
    private final ObjectMapper json = new ObjectMapper();
    private final Map<UUID, Set<UUID>> committed = new HashMap<>();
    /** Records whose transaction broke while it committed: they may exist or not. */
    private final Set<UUID> unsure = ConcurrentHashMap.newKeySet();

    /** The last sequence id of each project after all writes. */
    private final Map<UUID, Long> heads = new ConcurrentHashMap<>();

    private final List<Reader> readers = new ArrayList<>();
    private final List<OtherInstance> instances = new ArrayList<>();
    private volatile boolean writing = true;
    private volatile boolean reading = true;
    private volatile boolean over;

    /**
     * @param tolerateBrokenConnections whether plain SQL writers may lose their connections, and REST writers retry
     * @param checkVisible whether to read every record back at once after its commit
     */
    FeedLoad(AuditLogFixture log, URI service, boolean tolerateBrokenConnections, boolean checkVisible) {
        this(log, service, tolerateBrokenConnections, checkVisible, PROJECTS);
    }

    private FeedLoad(
            AuditLogFixture log,
            URI service,
            boolean tolerateBrokenConnections,
            boolean checkVisible,
            int projectCount) {
        this.log = log;
        this.checkVisible = checkVisible;
        this.service = service;
        this.tolerateBrokenConnections = tolerateBrokenConnections;
        this.projects = Stream.generate(log::newProject).limit(projectCount).toList();
        projects.forEach(project -> committed.put(project.id(), ConcurrentHashMap.newKeySet()));
        for (int i = 0; i < Math.max(LIMITS.length, projectCount); i++) {
            readers.add(new Reader(
                    projects.get((i + i / projects.size()) % projects.size()), LIMITS[i % LIMITS.length], Way.POLL));
        }
    }

    /**
     * A load on many projects by several instances of the service, each with transactions of many projects. All writers lock the
     * projects in opposite orders, and now and then two instances write one record.
     */
    static FeedLoad ofManyProjects(
            AuditLogFixture log,
            URI service,
            boolean tolerateBrokenConnections,
            boolean checkVisible,
            List<OtherInstance> instances) {
        FeedLoad load = new FeedLoad(log, service, tolerateBrokenConnections, checkVisible, MANY_PROJECTS);
        load.instances.addAll(instances);
        return load;
    }

    /** A load with one reader per project and kind of request. The readers lose their connections at random. */
    public static FeedLoad live(AuditLogFixture log, URI service) {
        FeedLoad load = new FeedLoad(log, service, false, false);
        load.readers.clear();
        for (Way way : List.of(Way.CUT_POLL, Way.WAIT, Way.STREAM)) {
            for (Project project : load.projects) {
                load.readers.add(new Reader(project, LIMITS[load.readers.size() % LIMITS.length], way));
            }
        }
        return load;
    }

    private static HttpClient newClient() {
        return HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    }

    /** The requests by which a reader follows a feed. */
    private enum Way {
        POLL,
        CUT_POLL,
        WAIT,
        STREAM
    }

    List<Project> projects() {
        return projects;
    }

    /** A reader that follows one feed. */
    private static final class Reader {
        final Project project;
        final int limit;
        final Way way;
        final AtomicInteger cuts = new AtomicInteger();
        final List<Long> sequenceIds = new ArrayList<>();
        final List<UUID> ids = new ArrayList<>();

        Reader(Project project, int limit, Way way) {
            this.project = project;
            this.limit = limit;
            this.way = way;
        }

        void add(JsonNode record) {
            sequenceIds.add(record.get("sequence_id").longValue());
            ids.add(UUID.fromString(record.get("id").textValue()));
        }

        boolean hasRead(@Nullable Long head) {
            return head != null && head.longValue() == sequenceIds.size();
        }
    }

    /** Runs the writers and something beside them until there are enough records, then lets the readers reach the end. */
    public void run(BooleanSupplier enough, Runnable beside) throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            List<Future<?>> writers = new ArrayList<>();
            List<Future<?>> followers = new ArrayList<>();
            for (Reader reader : readers) {
                followers.add(threads.submit(() -> follow(reader)));
            }
            for (int i = 0; i < WRITERS; i++) {
                writers.add(threads.submit(this::writeByRest));
                writers.add(threads.submit(this::writeBySql));
            }
            for (int i = 0; i < WRITERS_OF_AN_INSTANCE * instances.size(); i++) {
                OtherInstance instance = instances.get(i % instances.size());
                OtherInstance next = instances.get((i + 1) % instances.size());
                writers.add(threads.submit(() -> writeByInstance(instance, next)));
            }
            long end = System.nanoTime() + LIMIT.toNanos();
            while (!enough.getAsBoolean() && writers.stream().noneMatch(Future::isDone)) {
                assertThat(System.nanoTime() - end)
                        .as("it is enough within %s; there are %d records", LIMIT, committedRecords())
                        .isNegative();
                beside.run();
                Thread.sleep(50);
            }
            writing = false;
            for (Future<?> writer : writers) {
                writer.get(60, TimeUnit.SECONDS);
            }
            for (Project project : projects) {
                JsonNode newest = get(
                        project,
                        service.resolve(FeedLinks.PATH + "?order=desc&limit=1").toString());
                heads.put(
                        project.id(),
                        newest.get("results").path(0).path("sequence_id").longValue());
            }
            reading = false;
            for (Future<?> follower : followers) {
                follower.get(120, TimeUnit.SECONDS);
            }
        } finally {
            writing = false;
            reading = false;
            over = true;
            threads.shutdownNow();
        }
    }

    /** The number of records that the writers know to be committed. */
    public int committedRecords() {
        return committed.values().stream().mapToInt(Set::size).sum();
    }

    /** Requires that each reader has each committed record once, in sequence order, 1 … n without a gap. */
    public void checkReaders() throws SQLException {
        for (Reader reader : readers) {
            String name = reader.way + " reader with limit " + reader.limit;
            assertThat(reader.sequenceIds)
                    .as(name)
                    .isEqualTo(LongStream.rangeClosed(1, reader.sequenceIds.size())
                            .boxed()
                            .toList());
            // AssertJ would search one collection for each element of the other.
            Set<UUID> read = new HashSet<>(reader.ids);
            assertThat(reader.ids)
                    .as(name + ": records read, repeated ones too")
                    .hasSameSizeAs(read);
            Set<UUID> skipped = new HashSet<>(committed.get(reader.project.id()));
            skipped.removeAll(read);
            assertThat(skipped).as(name + ": records skipped").isEmpty();
            read.removeAll(committed.get(reader.project.id()));
            read.removeAll(unsure);
            assertThat(read).as(name + ": records that were not committed").isEmpty();
        }
        // Without statistics the planner takes a project for empty, and reads its whole feed for each place.
        try (Connection connection = log.connect();
                Statement analyze = connection.createStatement()) {
            analyze.execute("analyze annals.audit_record, annals.append, annals.feed_segment");
            connection.commit();
        }
        for (Project project : projects) {
            long records = log.checkFeed(project.id());
            for (Reader reader : readers) {
                if (reader.project.equals(project)) {
                    assertThat((long) reader.ids.size()).isEqualTo(records);
                }
            }
        }
    }

    /** The number of committed records that at least one reader never saw. */
    int skippedRecords() {
        Set<UUID> skipped = ConcurrentHashMap.newKeySet();
        for (Reader reader : readers) {
            Set<UUID> missing = ConcurrentHashMap.newKeySet();
            missing.addAll(committed.get(reader.project.id()));
            reader.ids.forEach(missing::remove);
            skipped.addAll(missing);
        }
        return skipped.size();
    }

    /** The number of cut connections of each reader. */
    public List<Integer> cuts() {
        return readers.stream().map(reader -> reader.cuts.get()).toList();
    }

    private Void follow(Reader reader) throws Exception {
        if (reader.way == Way.STREAM) {
            return listen(reader);
        }
        String url = service.resolve(FeedLinks.PATH + "?limit=" + reader.limit).toString();
        while (true) {
            boolean last = !reading;
            if (reader.way != Way.POLL && !last && ThreadLocalRandom.current().nextInt(10) == 0) {
                breakOff(reader, url);
            }
            JsonNode page = get(reader.project, url);
            page.get("results").forEach(reader::add);
            if (page.get("next").isNull() && last) {
                return null;
            }
            url = page.get(page.get("next").isNull() ? "poll_more" : "next").textValue();
            if (reader.way == Way.WAIT && !url.contains("&wait=")) {
                url += "&wait=1";
            }
        }
    }

    /** Requests a page and cuts the connection before or after the answer. */
    private void breakOff(Reader reader, String url) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url))
                .header("Authorization", "Bearer " + reader.project.token())
                .build();
        Future<?> answer = cutting.sendAsync(request, HttpResponse.BodyHandlers.discarding());
        Thread.sleep(ThreadLocalRandom.current().nextInt(20));
        answer.cancel(true);
        reader.cuts.incrementAndGet();
    }

    /** Listens to one stream after the other, and cuts each at random. */
    private Void listen(Reader reader) throws Exception {
        String lastId = "";
        while (goesOn(reader)) {
            HttpRequest.Builder request = HttpRequest.newBuilder(
                            service.resolve(FeedLinks.PATH + "/stream?limit=" + reader.limit))
                    .header("Authorization", "Bearer " + reader.project.token())
                    .header("Accept", "text/event-stream");
            if (!lastId.isEmpty()) {
                request.header("Last-Event-ID", lastId);
            }
            try (SseStream stream = SseStream.open(request.build())) {
                int events = reading ? ThreadLocalRandom.current().nextInt(200) : Integer.MAX_VALUE;
                for (int i = 0; i < events && goesOn(reader); i++) {
                    SseStream.Block block = stream.next();
                    if (block.data() != null) {
                        assertThat(block.event()).as(block.data()).isEqualTo("record");
                        reader.add(json.readTree(block.data()));
                    }
                    lastId = block.id() == null ? lastId : block.id();
                }
                reader.cuts.incrementAndGet();
            }
        }
        return null;
    }

    /** Also ends after the load has failed, because a stream sends heartbeats for ever. */
    private boolean goesOn(Reader reader) {
        return !over && !reader.hasRead(heads.get(reader.project.id()));
    }

    private Void writeByRest() throws Exception {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        while (writing) {
            Project project = projects.get(random.nextInt(projects.size()));
            int size = random.nextInt(4) == 0 ? random.nextInt(2, 20) : 1;
            List<UUID> ids = new ArrayList<>();
            List<String> records = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                ids.add(UUID.randomUUID());
                records.add("{\"action\": \"rest\", \"id\": \"" + ids.get(i) + "\"}");
            }
            JsonNode answer =
                    post(project, size == 1 ? records.get(0) : AuditLogFixture.batch(records.toArray(String[]::new)));
            committed.get(project.id()).addAll(ids);
            JsonNode first = size == 1 ? answer : answer.get("results").get(0);
            requireVisible(project, ids.get(0), first.get("sequence_id").longValue());
            Thread.sleep(random.nextInt(30));
        }
        return null;
    }

    /** Appends to many projects at a time, in any order. The other instance also writes one of the records. */
    private Void writeByInstance(OtherInstance instance, OtherInstance other) throws Exception {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        while (writing) {
            Map<UUID, UUID> ids = new LinkedHashMap<>();
            for (Project project : shuffled().subList(0, random.nextInt(1, projects.size()))) {
                ids.put(project.id(), UUID.randomUUID());
                unsure.add(ids.get(project.id()));
            }
            UUID twice = ids.keySet().iterator().next();
            CompletableFuture<Map<UUID, Long>> elsewhere = CompletableFuture.supplyAsync(() -> {
                try {
                    return other.append(Map.of(twice, ids.get(twice)));
                } catch (Exception e) {
                    throw new CompletionException(e);
                }
            });
            Map<UUID, Long> sequenceIds = instance.append(ids);
            sequenceIds.forEach((project, sequenceId) -> committed.get(project).add(ids.get(project)));
            if (sequenceIds.containsKey(twice)) {
                Project project = projects.stream()
                        .filter(one -> one.id().equals(twice))
                        .findFirst()
                        .orElseThrow();
                requireVisible(project, ids.get(twice), sequenceIds.get(twice));
                Long again = elsewhere.get(60, TimeUnit.SECONDS).get(twice);
                assertThat(again).isIn(null, sequenceIds.get(twice));
            }
        }
        return null;
    }

    private List<Project> shuffled() {
        List<Project> order = new ArrayList<>(projects);
        Collections.shuffle(order, ThreadLocalRandom.current());
        return order;
    }

    private Void writeBySql() throws Exception {
        while (writing) {
            try (Connection connection = log.connectAsWriter()) {
                while (writing) {
                    writeTransaction(connection);
                }
            } catch (SQLException e) {
                if (!tolerateBrokenConnections || !isBrokenConnection(e)) {
                    throw e;
                }
            }
        }
        return null;
    }

    /** Class 08, connection exception, or 57P01, admin_shutdown. */
    private static boolean isBrokenConnection(SQLException e) {
        return e.getSQLState() != null
                && (e.getSQLState().startsWith("08") || e.getSQLState().equals("57P01"));
    }

    private void writeTransaction(Connection connection) throws Exception {
        Map<UUID, Project> written = new HashMap<>();
        if (!fillTransaction(connection, written)) {
            connection.rollback();
            return;
        }
        try {
            connection.commit();
        } catch (SQLException e) {
            unsure.addAll(written.keySet());
            throw e;
        }
        written.forEach((id, project) -> committed.get(project.id()).add(id));
        Map.Entry<UUID, Project> record = written.entrySet().iterator().next();
        String url = service.resolve(FeedLinks.PATH + "/" + record.getKey()).toString();
        requireVisible(
                record.getValue(),
                record.getKey(),
                get(record.getValue(), url).get("sequence_id").longValue());
    }

    /** @return whether to commit */
    private boolean fillTransaction(Connection connection, Map<UUID, Project> written) throws Exception {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        Project project = projects.get(random.nextInt(projects.size()));
        insert(connection, project, random.nextInt(1, 4), written);
        if (random.nextInt(4) == 0) {
            insert(connection, projects.get(random.nextInt(projects.size())), 1, written);
        }
        if (projects.size() > PROJECTS && random.nextInt(2) == 0) {
            for (Project other : shuffled().subList(0, random.nextInt(projects.size()))) {
                insert(connection, other, 1, written);
            }
        }
        if (random.nextInt(4) == 0) {
            Savepoint savepoint = connection.setSavepoint();
            insert(connection, project, 2, new HashMap<>());
            connection.rollback(savepoint);
            insert(connection, project, 1, written);
        }
        Thread.sleep(random.nextInt(10) == 0 ? random.nextInt(100, 500) : random.nextInt(5, 50));
        return random.nextInt(6) != 0;
    }

    private static void insert(Connection connection, Project project, int records, Map<UUID, Project> written)
            throws SQLException {
        UUID[] ids = new UUID[records];
        for (int i = 0; i < records; i++) {
            ids[i] = UUID.randomUUID();
            written.put(ids[i], project);
        }
        try (PreparedStatement insert = connection.prepareStatement(
                "insert into annals.audit_record (project_id, id, action) select ?, id, 'sql' from unnest(?) as id")) {
            insert.setObject(1, project.id());
            insert.setArray(2, connection.createArrayOf("uuid", ids));
            insert.executeUpdate();
        }
    }

    /** A read that begins after the commit has returned sees the record. */
    private void requireVisible(Project project, UUID id, long sequenceId) throws Exception {
        if (!checkVisible) {
            return;
        }
        String url = service.resolve(FeedLinks.PATH + "?limit=1&cursor=" + (sequenceId - 1))
                .toString();
        JsonNode results = get(project, url).get("results");
        assertThat(results).as("record %d, read after its commit", sequenceId).hasSize(1);
        assertThat(results.get(0).get("id").textValue()).isEqualTo(id.toString());
    }

    private JsonNode get(Project project, String url) throws Exception {
        return send(project, HttpRequest.newBuilder(URI.create(url)).GET(), 200);
    }

    private JsonNode post(Project project, String body) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(service.resolve(AuditLogFixture.pathOf(body)))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body));
        return send(project, request, 201);
    }

    private JsonNode send(Project project, HttpRequest.Builder request, int expected) throws Exception {
        request.header("Authorization", "Bearer " + project.token()).timeout(Duration.ofSeconds(60));
        for (int attempt = 1; ; attempt++) {
            HttpResponse<String> answer = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
            boolean retried = tolerateBrokenConnections && answer.statusCode() == 200;
            if (answer.statusCode() == expected || retried) {
                return json.readTree(answer.body());
            }
            if (!tolerateBrokenConnections || answer.statusCode() != 503 || attempt == MAX_TRIES) {
                throw new IOException(answer.statusCode() + " " + answer.body());
            }
            Thread.sleep(20);
        }
    }
}
