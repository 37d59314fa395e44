package dev.annals.access.limits;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.RequestFields;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The limits of a project or a token. A limit without a value is not applied. */
public record Limits(Map<Limit, Long> values) {

    public static final Limits NONE = new Limits(Map.of());

    public static final Set<String> NAMES =
            Arrays.stream(Limit.values()).map(Limit::text).collect(Collectors.toUnmodifiableSet());

    private static final String NOTHING = "{}";
    private static final int SIZE = 256;
    private static final ObjectReader JSON = JsonMapper.builder().build().reader();

    public Limits {
        values = Map.copyOf(values);
    }

    /** Ignores limits of later versions of the schema. */
    public static Limits of(String json) {
        if (json.equals(NOTHING)) {
            return NONE;
        }
        try {
            Map<Limit, Long> values = new EnumMap<>(Limit.class);
            for (Map.Entry<String, JsonNode> field : JSON.readTree(json).properties()) {
                Limit.of(field.getKey())
                        .ifPresent(limit -> values.put(limit, field.getValue().longValue()));
            }
            return new Limits(values);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("these are not limits: " + json, e);
        }
    }

    /** Null without a limit. */
    @Nullable
    public Long of(Limit limit) {
        return values.get(limit);
    }

    /** The more generous limit of each kind, or none if one has none. */
    public Limits orMore(Limits other) {
        Map<Limit, Long> more = new EnumMap<>(Limit.class);
        values.forEach((limit, value) -> {
            Long ofOther = other.of(limit);
            if (ofOther != null) {
                more.put(limit, Math.max(value, ofOther));
            }
        });
        return new Limits(more);
    }

    boolean isEmpty() {
        return values.isEmpty();
    }

    public void write(JsonGenerator json) throws IOException {
        json.writeStartObject();
        for (Limit limit : Limit.values()) {
            Long value = values.get(limit);
            if (value != null) {
                json.writeNumberField(limit.text(), value);
            }
        }
        json.writeEndObject();
    }

    public String toJson() {
        return new String(JsonBody.toBytes(SIZE, this::write), StandardCharsets.UTF_8);
    }

    /** {@code {"records_per_second": 100, …}}. A missing or null member is no limit. */
    public static Limits read(byte[] body) {
        RequestFields fields = new RequestFields(body, NAMES);
        Limits limits = read(fields);
        fields.requireValid();
        return limits;
    }

    /** Ignores other members. */
    public static Limits read(RequestFields fields) {
        Map<Limit, Long> values = new EnumMap<>(Limit.class);
        for (Limit limit : Limit.values()) {
            JsonNode value = fields.get(limit.text());
            if (value != null) {
                if (value.canConvertToLong()
                        && value.isIntegralNumber()
                        && value.longValue() >= limit.least()
                        && value.longValue() <= limit.most()) {
                    values.put(limit, value.longValue());
                } else {
                    fields.wrong(
                            limit.text(),
                            "It must be a whole number from " + limit.least() + " to " + limit.most()
                                    + ", or be left out for no limit.");
                }
            }
        }
        return new Limits(values);
    }
}
