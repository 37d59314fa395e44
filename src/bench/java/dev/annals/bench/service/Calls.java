package dev.annals.bench.service;

import dev.annals.bench.SampleRecords;
import dev.annals.kernel.guid.SequentialGuid;
import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Supplier;

/** Endless requests of one kind. Bodies are made beforehand, so that the load costs the machine little. */
public final class Calls {

    private static final int BODIES = 512;

    private Calls() {}

    /** Appends of one record, each to one of the first {@code projects}. */
    public static Supplier<HttpCall> single(Target target, int projects) {
        return appends(target, projects, BODIES, 1);
    }

    /** Appends of batches to the first project. */
    static Supplier<HttpCall> batches(Target target, int records) {
        return appends(target, 1, 8, records);
    }

    private static Supplier<HttpCall> appends(Target target, int projects, int variety, int records) {
        SampleRecords samples = new SampleRecords(1, new SequentialGuid());
        List<Buffer> bodies = new ArrayList<>();
        for (int i = 0; i < variety; i++) {
            bodies.add(records == 1 ? Buffer.buffer(SampleRecords.toJson(samples.next())) : batch(samples, records));
        }
        SplittableRandom random = new SplittableRandom(1);
        return () -> {
            String token = target.tokens().get(random.nextInt(projects));
            Buffer body = bodies.get(random.nextInt(variety));
            return records == 1 ? HttpCall.post(token, body) : HttpCall.postBatch(token, body);
        };
    }

    private static Buffer batch(SampleRecords samples, int records) {
        Buffer body = Buffer.buffer("{\"records\":[");
        for (int i = 0; i < records; i++) {
            body.appendBytes(SampleRecords.toJson(samples.next())).appendString(i < records - 1 ? "," : "]}");
        }
        return body;
    }

    /** Pages from random places of a feed. */
    public static Supplier<HttpCall> pages(String token, long records, int pageSize) {
        SplittableRandom random = new SplittableRandom(1);
        return () -> HttpCall.page(token, random.nextLong(1, records - pageSize));
    }

    /** Reads behind the last record. */
    static Supplier<HttpCall> emptyPolls(String token, long records) {
        return () -> HttpCall.page(token, records);
    }
}
