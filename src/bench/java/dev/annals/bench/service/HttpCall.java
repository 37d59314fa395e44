package dev.annals.bench.service;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import org.jspecify.annotations.Nullable;

/**
 * One request.
 *
 * @param body JSON, or null
 * @param expectedStatus of the answer; any other is a failure
 */
public record HttpCall(
        HttpMethod method,
        String uri,
        String token,
        @Nullable Buffer body,
        int expectedStatus) {

    /** The path to write and read a feed. */
    public static final String FEED = "/v1/project-logs";

    /** Appends a record. */
    public static HttpCall post(String token, Buffer body) {
        return new HttpCall(HttpMethod.POST, FEED, token, body, 201);
    }

    static HttpCall postBatch(String token, Buffer body) {
        return new HttpCall(HttpMethod.POST, FEED + "/batch", token, body, 201);
    }

    static HttpCall get(String token, String path) {
        return new HttpCall(HttpMethod.GET, FEED + path, token, null, 200);
    }

    /** Reads a page behind a sequence id. */
    public static HttpCall page(String token, long cursor) {
        return page(token, "cursor=" + cursor);
    }

    /** Reads a page with the parameters of a query. */
    public static HttpCall page(String token, String query) {
        return new HttpCall(HttpMethod.GET, FEED + "?" + query, token, null, 200);
    }
}
