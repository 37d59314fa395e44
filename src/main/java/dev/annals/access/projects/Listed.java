package dev.annals.access.projects;

import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.guid.CanonicalGuid;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.RequestParameters;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A page of a list in the order of its ids.
 *
 * @param next the id to continue after; null at the end
 */
public record Listed<T>(List<T> items, @Nullable UUID next) {

    private static final int DEFAULT_LIMIT = 50;
    private static final int MAX_LIMIT = 200;
    private static final UUID FIRST = new UUID(0, 0);

    /**
     * The page that a request asks for.
     *
     * @param after the id before the first item
     */
    public record Part(UUID after, int limit) {

        /**
         * Reads the parameters {@code after} and {@code limit}.
         *
         * @throws ProblemException {@code invalid-parameter}
         */
        public static Part of(UriInfo uri) {
            MultivaluedMap<String, String> parameters = uri.getQueryParameters();
            RequestParameters.requireKnown(parameters, List.of("after", "limit"));
            return new Part(after(parameters.getFirst("after")), limit(parameters.getFirst("limit")));
        }

        private static UUID after(@Nullable String text) {
            UUID id = text == null ? FIRST : CanonicalGuid.parse(text);
            if (id == null) {
                throw RequestParameters.invalid("after", "It must be the next of the answer before.");
            }
            return id;
        }

        private static int limit(@Nullable String text) {
            if (text == null) {
                return DEFAULT_LIMIT;
            }
            if (!text.matches("[0-9]{1,3}") || Integer.parseInt(text) < 1 || Integer.parseInt(text) > MAX_LIMIT) {
                throw RequestParameters.invalid("limit", "It must be a number from 1 to " + MAX_LIMIT + ".");
            }
            return Integer.parseInt(text);
        }

        /**
         * Reads this page.
         *
         * @param list a statement with {@code :after} and {@code :most} left to bind
         */
        public <T> Uni<Listed<T>> read(Binds list, Pool pool, Function<Row, T> read, Function<T, UUID> id) {
            // One more row shows whether the list continues.
            return DatabaseFailure.retried(
                            list.bind("after", after).bind("most", limit + 1).execute(pool))
                    .map(rows -> listed(rows, read, id));
        }

        private <T> Listed<T> listed(RowSet<Row> rows, Function<Row, T> read, Function<T, UUID> id) {
            List<T> items = new ArrayList<>();
            for (Row row : rows) {
                if (items.size() == limit) {
                    return new Listed<>(items, id.apply(items.get(limit - 1)));
                }
                items.add(read.apply(row));
            }
            return new Listed<>(items, null);
        }
    }

    /**
     * The answer: an object with the items and {@code next}.
     *
     * @param size the expected bytes of an item
     */
    public Response answer(String name, int size, Function<T, JsonBody.Content> content) {
        return JsonBody.answer(Response.Status.OK, size * (1 + items.size()), json -> {
            json.writeStartObject();
            json.writeArrayFieldStart(name);
            for (T item : items) {
                content.apply(item).write(json);
            }
            json.writeEndArray();
            json.writeStringField("next", next == null ? null : next.toString());
            json.writeEndObject();
        });
    }
}
