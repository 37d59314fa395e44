package dev.annals.edges.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import dev.annals.access.actions.Catalogue;
import dev.annals.core.feed.Cursor;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import dev.annals.core.record.StoredRecord;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A receiver that has not read everything has acknowledged nothing, and none can hold a stream for longer than the limit. */
@BesideTheService
class SyslogSinkTest {

    private static final Vertx VERTX = Vertx.vertx();
    private static final Duration LIMIT = Duration.ofSeconds(2);
    private static final int MAX_BYTES = 8_096;

    @AfterAll
    static void stop() {
        VERTX.close();
    }

    private interface Peer {
        void serve(Socket socket) throws Exception;
    }

    private static NamedStream stream(String url, StreamFormat format) {
        OffsetDateTime now = OffsetDateTime.now(ZoneOffset.UTC);
        UUID projectId = UUID.randomUUID();
        return new NamedStream(
                UUID.randomUUID(),
                projectId,
                projectId,
                "siem",
                false,
                false,
                SinkType.SYSLOG,
                url,
                false,
                null,
                null,
                null,
                format,
                "{}",
                false,
                5,
                now,
                null,
                null,
                null,
                null,
                new NamedStream.Progress(Cursor.START, 0, 0, 1, 0, 0, null, null, null, null, 0, 0, true, 0));
    }

    private static EncodedRecord encoded(
            NamedStream stream, long sequenceId, String text, String metadata, int maxBytes) {
        Party party = new Party(text, text, text);
        OffsetDateTime time = OffsetDateTime.of(2026, 1, 2, 3, 4, 5, 6_000, ZoneOffset.UTC);
        AuditRecord record = new AuditRecord(
                new UUID(1, sequenceId), text, party, party, "success", "10.0.0.1", text, time, false, metadata);
        RecordEncoder.Format format =
                new SyslogMessage(stream, stream.format().of(stream.projectId(), Catalogue.NONE, null), maxBytes);
        try (RecordEncoder encoder = new RecordEncoder(format)) {
            return encoder.encode(new StoredRecord(record, sequenceId, time, "token:" + text), 0);
        }
    }

    private static String text(EncodedRecord record) {
        io.vertx.core.buffer.Buffer bytes = io.vertx.core.buffer.Buffer.buffer();
        record.appendTo(bytes);
        return bytes.toString(StandardCharsets.UTF_8);
    }

    private static Sink.Outcome deliver(Peer peer, int records) throws Exception {
        try (ServerSocket server = new ServerSocket(0, 3, InetAddress.getLoopbackAddress())) {
            Thread thread = new Thread(() -> {
                // The first connection is there to be watched, the second has the messages.
                try (Socket watch = server.accept()) {
                    try (Socket socket = server.accept()) {
                        peer.serve(socket);
                    }
                    watch.getInputStream().readAllBytes();
                } catch (Exception e) {
                    // The other side has ended it.
                }
            });
            thread.start();
            Sink.Outcome outcome = deliver("syslog://127.0.0.1:" + server.getLocalPort(), records);
            thread.interrupt();
            thread.join();
            return outcome;
        }
    }

    private static Sink.Outcome deliver(String url, int count) {
        NamedStream stream = stream(url, StreamFormat.JSON);
        List<EncodedRecord> records = new ArrayList<>();
        for (int i = 1; i <= count; i++) {
            // Behind the first hundreds it is only their bytes that matter.
            records.add(i <= 300 ? encoded(stream, i, "x".repeat(200), null, MAX_BYTES) : records.get(i % 300));
        }
        Targets targets = new Targets(List.of("127.0.0.1", "192.0.2.1"), InetAddress::getAllByName, VERTX);
        Sink sink = new SyslogSink(stream, targets, VERTX.createSharedWorkerExecutor("syslog-sink"), LIMIT);
        return sink.deliver(new Sink.Batch(stream, records, Cursor.START, Cursor.START))
                .await()
                .atMost(LIMIT.multipliedBy(10));
    }

    private static String why(Sink.Outcome outcome) {
        assertThat(outcome).isInstanceOf(Sink.Outcome.Failed.class);
        return ((Sink.Outcome.Failed) outcome).why();
    }

    private static final Map<String, Peer> BAD = Map.of(
            "reads nothing and waits",
            socket -> TimeUnit.HOURS.sleep(1),
            "reads everything and never ends it",
            socket -> {
                socket.getInputStream().readAllBytes();
                TimeUnit.HOURS.sleep(1);
            },
            "reads a little and resets it",
            socket -> {
                assertThat(socket.getInputStream().readNBytes(100)).hasSize(100);
                socket.setSoLinger(true, 0);
            },
            "answers without an end",
            socket -> {
                OutputStream out = socket.getOutputStream();
                while (true) {
                    out.write(new byte[1_000]);
                }
            });

    @ParameterizedTest
    @ValueSource(
            strings = {
                "reads nothing and waits",
                "reads everything and never ends it",
                "reads a little and resets it",
                "answers without an end"
            })
    void aReceiverThatHasNotReadEverythingAcknowledgesNothing(String peer) throws Exception {
        assertThat(why(deliver(BAD.get(peer), 100))).isNotBlank();
        // More than the operating systems of both sides keep for a program that does not read.
        assertThat(why(deliver(BAD.get(peer), 20_000))).isNotBlank();
    }

    /** As the operating system ends connections of a process that is killed after it has read, and before it has stored what it has read. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aReceiverThatEndsAllConnectionsAcknowledgesNothing(boolean isStartedAgain) throws Exception {
        ServerSocket server = new ServerSocket(0, 3, InetAddress.getLoopbackAddress());
        String url = "syslog://127.0.0.1:" + server.getLocalPort();
        Thread thread = new Thread(() -> {
            try (Socket first = server.accept();
                    Socket second = server.accept();
                    first) {
                second.getInputStream().readAllBytes();
                if (!isStartedAgain) {
                    server.close();
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        thread.start();
        assertThat(why(deliver(url, 100)))
                .isEqualTo(
                        isStartedAgain
                                ? "It ended all its connections, so it may have been killed before it had stored everything."
                                : "No connection can be made, or it broke.");
        thread.join();
        server.close();
    }

    @Test
    void aReceiverThatHasReadEverythingHasEachWholeMessage() throws Exception {
        List<String> messages = new ArrayList<>();
        Sink.Outcome outcome = deliver(
                socket -> {
                    InputStream in = socket.getInputStream();
                    StringBuilder digits = new StringBuilder();
                    for (int c = in.read(); c >= 0; c = in.read()) {
                        if (c == ' ') {
                            messages.add(new String(
                                    in.readNBytes(Integer.parseInt(digits.toString())), StandardCharsets.UTF_8));
                            digits.setLength(0);
                        } else {
                            digits.append((char) c);
                        }
                    }
                },
                300);
        assertThat(outcome).isInstanceOf(Sink.Outcome.Delivered.class);
        assertThat(messages).hasSize(300);
        for (int i = 0; i < 300; i++) {
            assertThat(messages.get(i))
                    .contains(" sequence_id=\"" + (i + 1) + "\"")
                    .startsWith("<110>1 2026-01-02T");
        }
    }

    @Test
    void withoutTlsNothingLeavesThisMachine() {
        assertThat(why(deliver("syslog://192.0.2.1:514", 1))).contains("Without TLS");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"]\\",
                "\u0000\u0007\u001b[2J\n<0>1 forged",
                "\u0085\u2028\u2029\u007f\u009b",
                "字\ud83d\ude00",
                "=|\\=|\n",
                "%s%n$1"
            })
    void noTextEndsAMessageOrAValueAndNoMessageIsTooLong(String text) {
        for (StreamFormat format : List.of(StreamFormat.JSON, StreamFormat.CEF, StreamFormat.OCSF)) {
            NamedStream stream = stream("syslog://127.0.0.1", format);
            for (int maxBytes : List.of(2_048, MAX_BYTES, 1_048_576)) {
                // The last is more than there is room for.
                for (int times : List.of(1, 40, maxBytes > MAX_BYTES ? 20_000 : 4_000)) {
                    EncodedRecord record = encoded(stream, 7, text.repeat(times), "{\"a\": \"b\"}", maxBytes);
                    String message = text(record);
                    assertThat(record.length()).isLessThanOrEqualTo(maxBytes);
                    assertThat(message).doesNotContainPattern("[\\p{Cc}\\p{Zl}\\p{Zp}\ufffd]");
                    // A parser of RFC 5424 that knows nothing else.
                    String value = "\"(?:[^\"\\\\\\]]|\\\\[\"\\\\\\]])*+\"";
                    assertThat(message)
                            .matches(
                                    "<110>1 2026-01-02T03:04:05\\.000006Z - annals - [!-~]{1,32} \\[annals@32473( [a-z_]+="
                                            + value + ")++\\]( [^ ].*)?");
                    assertThat(message).contains(" sequence_id=\"7\" ");
                }
            }
        }
    }
}
