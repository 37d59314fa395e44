package dev.annals.sequence;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.annals.problem.FieldError;
import dev.annals.problem.Problem;
import dev.annals.problem.ProblemException;
import dev.annals.problem.ProblemType;
import dev.annals.sequence.Sequence.Definition;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The body of {@code PUT /v1/sequences/{name}}, read strictly: every wrong field is named. */
final class SequenceRequest {

    private static final ObjectReader JSON = JsonMapper.builder(JsonFactory.builder()
                    .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                    .build())
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build()
            .reader();
    private static final Set<String> KNOWN = Set.of("kind", "start", "max_value", "batch_size", "low_water_mark");
    private static final String DRAWN_KINDS = Arrays.stream(SequenceKind.values())
            .filter(SequenceKind::isDrawn)
            .map(SequenceKind::name)
            .collect(Collectors.joining(", "));

    private final JsonNode object;
    private final List<FieldError> errors = new ArrayList<>();

    private SequenceRequest(JsonNode object) {
        this.object = object;
    }

    /** @throws ProblemException {@code malformed-json} or {@code invalid-body} */
    static Definition read(byte[] body) {
        try {
            return new SequenceRequest(JSON.readTree(body)).definition();
        } catch (JsonProcessingException e) {
            throw new ProblemException(ProblemType.MALFORMED_JSON, e.getOriginalMessage());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Definition definition() {
        if (!object.isObject()) {
            errors.add(new FieldError("", "It must be a JSON object."));
            throw invalid();
        }
        object.fieldNames().forEachRemaining(name -> {
            if (!KNOWN.contains(name)) {
                errors.add(new FieldError("/" + name.replace("~", "~0").replace("/", "~1"), "There is no such field."));
            }
        });
        Optional<SequenceKind> kind = kind();
        if (kind.isEmpty()) {
            throw invalid();
        }
        Definition defaults = Definition.of(kind.get());
        long maxValue = kind.get().hasMaxValue()
                ? number("max_value", 1, Sequence.GREATEST, defaults.maxValue())
                : absent("max_value", kind.get(), defaults.maxValue());
        long start = kind.get() == SequenceKind.COMPOSITE
                ? absent("start", kind.get(), defaults.start())
                : number("start", 1, maxValue, defaults.start());
        int batchSize = (int)
                (kind.get().hasBatchSize()
                        ? number("batch_size", 1, Definition.MAX_BATCH_SIZE, defaults.batchSize())
                        : absent("batch_size", kind.get(), 1));
        int lowWaterMark = (int)
                (kind.get() == SequenceKind.ASYNC_BATCH
                        ? number("low_water_mark", 0, batchSize, batchSize / 4)
                        : absent("low_water_mark", kind.get(), 0));
        if (!errors.isEmpty()) {
            throw invalid();
        }
        return new Definition(kind.get(), start, maxValue, batchSize, lowWaterMark);
    }

    private Optional<SequenceKind> kind() {
        JsonNode value = object.get("kind");
        if (value == null || value.isNull()) {
            errors.add(new FieldError("/kind", "It is missing; give one of " + DRAWN_KINDS + "."));
            return Optional.empty();
        }
        Optional<SequenceKind> kind = Arrays.stream(SequenceKind.values())
                .filter(known -> value.isTextual() && known.name().equals(value.textValue()))
                .findFirst();
        if (kind.isEmpty()) {
            errors.add(new FieldError("/kind", "It must be one of " + DRAWN_KINDS + "."));
        } else if (!kind.get().isDrawn()) {
            errors.add(new FieldError(
                    "/kind",
                    kind.get() + " numbers the rows of a table of yours, by SQL: there is nothing to define here. Give"
                            + " one of " + DRAWN_KINDS + "."));
            return Optional.empty();
        }
        return kind;
    }

    private long number(String name, long min, long max, long otherwise) {
        JsonNode value = object.get(name);
        if (value == null || value.isNull()) {
            return otherwise;
        }
        if (!value.isIntegralNumber()
                || !value.canConvertToLong()
                || value.longValue() < min
                || value.longValue() > max) {
            errors.add(new FieldError("/" + name, "It must be an integer from " + min + " to " + max + "."));
            return otherwise;
        }
        return value.longValue();
    }

    private long absent(String name, SequenceKind kind, long otherwise) {
        @Nullable JsonNode value = object.get(name);
        if (value != null && !value.isNull()) {
            errors.add(new FieldError("/" + name, "The kind " + kind + " has none: leave it out."));
        }
        return otherwise;
    }

    private ProblemException invalid() {
        return new ProblemException(Problem.of(ProblemType.INVALID_BODY, "Some fields are wrong; errors names each.")
                .withErrors(errors));
    }
}
