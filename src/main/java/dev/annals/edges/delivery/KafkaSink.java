package dev.annals.edges.delivery;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.annals.core.feed.Cursor;
import dev.annals.core.feed.FeedQuery;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.apache.kafka.common.errors.InvalidPidMappingException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.InvalidTimestampException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.SslAuthenticationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.TransactionalIdAuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.jspecify.annotations.Nullable;

/**
 * A topic of Kafka. Each batch is one transaction: its records, with the project's id as key, and the cursor after them, stored as the
 * offset of a consumer group without members. A turn first takes over the stream's {@code transactional.id}, which aborts the transaction
 * of an earlier instance and fences it. Only then it reads the cursor. Consumers of committed records therefore get each record exactly
 * once.
 *
 * <p>Kafka's client blocks. Each turn has a thread of its own, which is interrupted when the turn ends.
 */
final class KafkaSink implements Sink {

    /** The prefix of transactional ids and groups, so that one ACL can allow them all. */
    private static final String PREFIX = "annals-";

    private static final String CONTENT_TYPE = "content-type";
    private static final JsonFactory JSON = new JsonFactory();
    /** The number of rewinds, and the cursor. */
    private static final Pattern PLACE = Pattern.compile("([0-9]{1,9}) ([0-9]{1,18}(?:-[0-9a-f]{8})?)");

    private final NamedStream stream;
    private final KafkaUrl url;
    private final KafkaClients clients;
    private final Duration limit;
    private final byte[] key;
    private final Context context;
    private final ExecutorService thread;
    private @Nullable Producer<byte[], byte[]> producer;
    private boolean isClosed;
    private volatile boolean isRewound;

    KafkaSink(
            NamedStream stream,
            String login,
            Targets targets,
            OwnIdentity identity,
            HttpExchange http,
            Vertx vertx,
            DeliveryConfig config) {
        this.stream = stream;
        this.url = KafkaUrl.parse(stream.url());
        this.limit = config.timeout();
        this.clients = new KafkaClients(
                url,
                login,
                targets,
                identity,
                http,
                limit,
                StreamScheduler.BATCH_BYTES,
                2 * StreamScheduler.BATCH_BYTES + FeedQuery.LARGEST_RECORD);
        this.key = stream.projectId().toString().getBytes(StandardCharsets.UTF_8);
        this.context = vertx.getOrCreateContext();
        this.thread = Executors.newSingleThreadExecutor(work -> {
            Thread made = new Thread(work, "kafka-sink " + stream.id());
            made.setDaemon(true);
            return made;
        });
    }

    private <T> Uni<T> blocking(Callable<T> work) {
        return Uni.createFrom()
                .<T>emitter(emitter -> thread.execute(() -> {
                    try {
                        emitter.complete(work.call());
                    } catch (Exception | LinkageError e) {
                        emitter.fail(e);
                    }
                }))
                .ifNoItem()
                .after(limit)
                .failWith(TimeoutException::new)
                .emitOn(command -> context.runOnContext(ready -> command.run()));
    }

    private String name() {
        return stream.allProjects() ? PREFIX + stream.id() + "-" + stream.projectId() : PREFIX + stream.id();
    }

    /** The constructor is deprecated: consumers make this object. Here no consumer exists. */
    @SuppressWarnings("removal")
    private ConsumerGroupMetadata group() {
        return new ConsumerGroupMetadata(name());
    }

    private TopicPartition place() {
        return new TopicPartition(url.topic(), 0);
    }

    @Override
    public Uni<Cursor> begin(Cursor known) {
        return blocking(() -> {
            Producer<byte[], byte[]> opened = adopt(clients.producer(name()));
            opened.initTransactions();
            return cursor(known);
        });
    }

    /** If the sink was closed meanwhile, the producer is closed, too. */
    private synchronized Producer<byte[], byte[]> adopt(Producer<byte[], byte[]> opened) {
        producer = opened;
        if (isClosed) {
            close();
        }
        return opened;
    }

    private synchronized Producer<byte[], byte[]> open() {
        if (producer == null) {
            throw new IllegalStateException("a sink begins before it delivers");
        }
        return producer;
    }

    private Cursor cursor(Cursor known) throws InterruptedException, ExecutionException, UnknownHostException {
        OffsetAndMetadata found;
        Admin admin = clients.admin(name());
        try {
            found = admin.listConsumerGroupOffsets(
                            Map.of(name(), new ListConsumerGroupOffsetsSpec().topicPartitions(List.of(place()))),
                            new ListConsumerGroupOffsetsOptions().requireStable(true))
                    .partitionsToOffsetAndMetadata(name())
                    .get()
                    .get(place());
        } finally {
            admin.close(Duration.ZERO);
        }
        if (found == null) {
            return known;
        }
        Matcher text = PLACE.matcher(found.metadata());
        if (!text.matches()) {
            throw new SinkException(
                    "The offset of the group " + name()
                            + ", which holds the stream's cursor, was set from outside: delete it, and the service's own cursor counts.");
        }
        int rewinds = Integer.parseInt(text.group(1));
        isRewound = rewinds > stream.progress().rewinds();
        return rewinds < stream.progress().rewinds()
                ? known
                : Cursor.parse(text.group(2)).orElseThrow();
    }

    @Override
    public Uni<Outcome> deliver(Batch batch) {
        return isRewound
                ? Uni.createFrom().item(new Outcome.Moved())
                : blocking(() -> write(open(), batch, true))
                        .onFailure()
                        .recoverWithItem(failure -> outcome(failure, batch));
    }

    /** In an aborted transaction with an id of its own, which does not fence a delivery. */
    @Override
    public Uni<Outcome> test(Batch batch) {
        return blocking(() -> {
                    Producer<byte[], byte[]> opened = adopt(clients.producer(name() + "-test"));
                    opened.initTransactions();
                    return write(opened, batch, false);
                })
                .onFailure()
                .recoverWithItem(failure -> outcome(failure, batch));
    }

    private Outcome write(Producer<byte[], byte[]> open, Batch batch, boolean forGood)
            throws InterruptedException, ExecutionException {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        open.beginTransaction();
        try {
            for (EncodedRecord record : batch.records()) {
                sent.add(open.send(message(record)));
            }
            String behind = stream.progress().rewinds() + " " + batch.after();
            open.sendOffsetsToTransaction(
                    Map.of(place(), new OffsetAndMetadata(batch.after().sequenceId(), behind)), group());
            if (!forGood) {
                for (Future<RecordMetadata> each : sent) {
                    each.get();
                }
                open.abortTransaction();
                return Outcome.Delivered.records(batch.records().size(), ", and the transaction was aborted");
            }
            // Fails if any send failed.
            open.commitTransaction();
            return Outcome.Delivered.records(batch.records().size(), "");
        } catch (KafkaException e) {
            Outcome outcome = outcome(e, batch);
            if (outcome instanceof Outcome.Refused) {
                // The turn goes on with this producer.
                open.abortTransaction();
            }
            return outcome;
        }
    }

    private ProducerRecord<byte[], byte[]> message(EncodedRecord record) {
        ByteBuffer buffer = ByteBuffer.allocate(record.length());
        record.appendTo(buffer);
        byte[] bytes = buffer.array();
        if (stream.format() == StreamFormat.CLOUDEVENTS) {
            return event(bytes);
        }
        // Without the line break at its end.
        byte[] value = bytes[bytes.length - 1] == '\n' ? Arrays.copyOf(bytes, bytes.length - 1) : bytes;
        return message(value, Map.of(CONTENT_TYPE, stream.format().mediaType()));
    }

    private ProducerRecord<byte[], byte[]> message(byte[] value, Map<String, String> headers) {
        ProducerRecord<byte[], byte[]> message = new ProducerRecord<>(url.topic(), key, value);
        headers.forEach((name, text) -> message.headers().add(name, text.getBytes(StandardCharsets.UTF_8)));
        return message;
    }

    /** A CloudEvent in binary mode (Kafka protocol binding): each attribute is a header, and the data is the value. */
    private ProducerRecord<byte[], byte[]> event(byte[] structured) {
        Map<String, String> headers = new LinkedHashMap<>();
        try (JsonParser json = JSON.createParser(structured)) {
            json.nextToken();
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String name = json.currentName();
                json.nextToken();
                if (name.equals("data")) {
                    int from = (int) json.currentTokenLocation().getByteOffset();
                    json.skipChildren();
                    int to = (int) json.currentLocation().getByteOffset();
                    return message(Arrays.copyOfRange(structured, from, to), headers);
                }
                headers.put(name.equals("datacontenttype") ? CONTENT_TYPE : "ce_" + name, json.getText());
            }
            throw new IllegalStateException("each event has data");
        } catch (IOException e) {
            throw new UncheckedIOException("the service has written it", e);
        }
    }

    /** Texts of a broker are not shown. */
    private Outcome outcome(Throwable failure, Batch batch) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof ProducerFencedException
                    || cause instanceof InvalidProducerEpochException
                    || cause instanceof InvalidPidMappingException) {
                return new Outcome.Moved();
            } else if (!batch.records().isEmpty()
                    && (cause instanceof RecordTooLargeException
                            || cause instanceof InvalidRecordException
                            || cause instanceof InvalidTimestampException)) {
                return new Outcome.Refused(explain(cause), false);
            }
        }
        return new Outcome.Failed(explain(failure), null);
    }

    private static Throwable rootOf(Throwable failure) {
        Throwable root = failure;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root;
    }

    @Override
    public String explain(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            String known = known(cause);
            if (known != null) {
                return known;
            }
        }
        String refusal = clients.refusal();
        if (refusal != null) {
            return refusal;
        }
        return isTooLate(failure)
                ? "It did not answer within " + limit.toMillis() + " ms. Do its brokers and the topic exist?"
                : "It failed with " + rootOf(failure).getClass().getSimpleName() + ".";
    }

    private static boolean isTooLate(Throwable failure) {
        return failure instanceof TimeoutException || failure.getCause() instanceof TimeoutException;
    }

    private static @Nullable String known(Throwable cause) {
        if (cause instanceof SinkException || cause instanceof Targets.RefusedTargetException) {
            return cause.getMessage();
        } else if (cause instanceof UnknownHostException) {
            return "Its host is not known.";
        } else if (cause instanceof SslAuthenticationException) {
            return "TLS fails: is its certificate trusted here, and for this name?";
        } else if (cause instanceof AuthenticationException) {
            return "It refuses the login.";
        } else if (cause instanceof TopicAuthorizationException) {
            return "The login needs the rights WRITE and READ on the topic.";
        } else if (cause instanceof GroupAuthorizationException) {
            return "The login needs the right READ on groups that begin with " + PREFIX + ".";
        } else if (cause instanceof TransactionalIdAuthorizationException) {
            return "The login needs the right WRITE on transactional ids that begin with " + PREFIX + ".";
        } else if (cause instanceof UnknownTopicOrPartitionException || cause instanceof InvalidTopicException) {
            return "It has no such topic.";
        } else if (cause instanceof RecordTooLargeException) {
            return "The record is larger than the topic takes.";
        } else if (cause instanceof InvalidRecordException || cause instanceof InvalidTimestampException) {
            return "The topic does not take the record.";
        }
        return null;
    }

    @Override
    public synchronized void close() {
        isClosed = true;
        thread.shutdownNow();
        Producer<byte[], byte[]> open = producer;
        producer = null;
        if (open != null) {
            // On a thread of its own: it waits for the client's thread, which may be resolving a name.
            Thread closing = new Thread(() -> open.close(Duration.ZERO), "kafka-sink close " + stream.id());
            closing.setDaemon(true);
            closing.start();
        }
    }
}
