package dev.annals.bench.service;

import dev.annals.bench.SampleRecords;
import dev.annals.kernel.guid.SequentialGuid;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.time.Duration;

/** One request whose body is a stream of records, one a line. */
final class NdjsonUpload {

    private static final int LINES = 1000;
    private static final int CHUNK_BYTES = 1 << 16;
    private static final Duration LIMIT = Duration.ofMinutes(10);

    private final Target target;
    private final String token;
    private final byte[] lines = lines();

    NdjsonUpload(Target target, String token) {
        this.target = target;
        this.token = token;
    }

    private static byte[] lines() {
        SampleRecords samples = new SampleRecords(1, new SequentialGuid());
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int i = 0; i < LINES; i++) {
            bytes.writeBytes(SampleRecords.toJson(samples.next()));
            bytes.write('\n');
        }
        return bytes.toByteArray();
    }

    /** The number of records in a body of about this size. */
    long recordsOf(long bytes) {
        return bytes / lines.length * LINES;
    }

    /**
     * Uploads records, a multiple of 1,000, and waits until they are stored.
     *
     * @return records in a second
     */
    double rate(long records) throws IOException {
        long begin = System.nanoTime();
        int status = send(Math.toIntExact(records / LINES));
        if (status != HttpURLConnection.HTTP_OK) {
            throw new IOException("NDJSON is answered with " + status);
        }
        return records * 1e9 / (System.nanoTime() - begin);
    }

    private int send(int blocks) throws IOException {
        URI uri = URI.create("http://127.0.0.1:" + target.port() + "/v1/project-logs/import");
        HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
        connection.setRequestMethod("POST");
        connection.setDoOutput(true);
        connection.setConnectTimeout(10_000);
        connection.setReadTimeout(Math.toIntExact(LIMIT.toMillis()));
        connection.setChunkedStreamingMode(CHUNK_BYTES);
        connection.setRequestProperty("Authorization", "Bearer " + token);
        connection.setRequestProperty("Content-Type", "application/x-ndjson");
        try (OutputStream body = connection.getOutputStream()) {
            for (int i = 0; i < blocks; i++) {
                body.write(lines);
            }
        }
        try {
            return connection.getResponseCode();
        } finally {
            connection.disconnect();
        }
    }
}
