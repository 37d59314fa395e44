package dev.annals.kernel.http;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import jakarta.ws.rs.core.Response;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** JSON of answers, written directly into memory. */
public final class JsonBody {

    private static final JsonFactory JSON = new JsonFactoryBuilder()
            .enable(JsonWriteFeature.COMBINE_UNICODE_SURROGATES_IN_UTF8)
            .build();

    private JsonBody() {}

    /**
     * Writes UTF-8 and escapes only what must be escaped. The caller closes it.
     *
     * @throws IOException what {@code out} throws
     */
    public static JsonGenerator generator(OutputStream out) throws IOException {
        return JSON.createGenerator(out, JsonEncoding.UTF8);
    }

    @FunctionalInterface
    public interface Content {
        /** Writes one JSON value. */
        void write(JsonGenerator json) throws IOException;
    }

    /**
     * Writes a body in UTF-8.
     *
     * @param expectedBytes its approximate size
     */
    public static byte[] toBytes(int expectedBytes, Content content) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(expectedBytes);
        try (JsonGenerator json = generator(bytes)) {
            content.write(json);
        } catch (IOException e) {
            throw new UncheckedIOException("memory cannot fail to be written", e);
        }
        return bytes.toByteArray();
    }

    /** Writes a member unless its value is null. */
    public static void string(String name, @Nullable String value, JsonGenerator json) throws IOException {
        if (value != null) {
            json.writeStringField(name, value);
        }
    }

    @FunctionalInterface
    public interface Item<T> {
        void write(T item, JsonGenerator json) throws IOException;
    }

    /**
     * The answer with a complete list.
     *
     * @param name of the list's member
     * @param itemBytes the approximate size of an item
     */
    public static <T> Response answer(String name, int itemBytes, List<T> items, Item<T> item) {
        return answer(Response.Status.OK, itemBytes * (1 + items.size()), json -> {
            json.writeStartObject();
            json.writeArrayFieldStart(name);
            for (T each : items) {
                item.write(each, json);
            }
            json.writeEndArray();
            json.writeEndObject();
        });
    }

    public static Response answer(Response.Status status, int expectedBytes, Content content) {
        return Response.status(status).entity(toBytes(expectedBytes, content)).build();
    }
}
