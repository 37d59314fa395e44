package dev.annals.core.sequence;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.core.sequence.Sequence.Definition;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.RequestFields;
import java.util.Arrays;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** The body of {@code PUT /v1/sequences/{name}}. */
final class SequenceRequest {

    private static final Set<String> KNOWN = Set.of("kind", "start", "max_value", "batch_size", "low_water_mark");
    private static final String DRAWN_KINDS = Arrays.stream(SequenceKind.values())
            .filter(SequenceKind::isDrawn)
            .map(SequenceKind::name)
            .collect(Collectors.joining(", "));

    private final RequestFields fields;

    private SequenceRequest(RequestFields fields) {
        this.fields = fields;
    }

    /** @throws ProblemException {@code malformed-json} or {@code invalid-body} */
    static Definition read(byte[] body) {
        SequenceRequest request = new SequenceRequest(new RequestFields(body, KNOWN));
        Optional<Definition> definition = request.kind().map(request::definition);
        request.fields.requireValid();
        return definition.orElseThrow();
    }

    private Definition definition(SequenceKind kind) {
        Definition defaults = Definition.of(kind);
        long maxValue = kind.hasMaxValue()
                ? number("max_value", 1, Sequence.GREATEST, defaults.maxValue())
                : absent("max_value", kind, defaults.maxValue());
        long start = kind == SequenceKind.COMPOSITE
                ? absent("start", kind, defaults.start())
                : number("start", 1, maxValue, defaults.start());
        int batchSize = (int)
                (kind.hasBatchSize()
                        ? number("batch_size", 1, Definition.MAX_BATCH_SIZE, defaults.batchSize())
                        : absent("batch_size", kind, 1));
        int lowWaterMark = (int)
                (kind == SequenceKind.ASYNC_BATCH
                        ? number("low_water_mark", 0, batchSize, batchSize / 4)
                        : absent("low_water_mark", kind, 0));
        fields.requireValid();
        return new Definition(kind, start, maxValue, batchSize, lowWaterMark);
    }

    private Optional<SequenceKind> kind() {
        JsonNode value = fields.get("kind");
        if (value == null) {
            fields.wrong("kind", "It is missing; give one of " + DRAWN_KINDS + ".");
            return Optional.empty();
        }
        Optional<SequenceKind> kind = Arrays.stream(SequenceKind.values())
                .filter(known -> value.isTextual() && known.name().equals(value.textValue()))
                .findFirst();
        if (kind.isEmpty()) {
            fields.wrong("kind", "It must be one of " + DRAWN_KINDS + ".");
        } else if (!kind.get().isDrawn()) {
            fields.wrong(
                    "kind",
                    kind.get() + " numbers the rows of your own table, by SQL: there is nothing to define here. Give"
                            + " one of " + DRAWN_KINDS + ".");
            return Optional.empty();
        }
        return kind;
    }

    private long number(String name, long min, long max, long otherwise) {
        JsonNode value = fields.get(name);
        if (value == null) {
            return otherwise;
        }
        if (!value.isIntegralNumber()
                || !value.canConvertToLong()
                || value.longValue() < min
                || value.longValue() > max) {
            fields.wrong(name, "It must be an integer from " + min + " to " + max + ".");
            return otherwise;
        }
        return value.longValue();
    }

    private long absent(String name, SequenceKind kind, long otherwise) {
        if (fields.get(name) != null) {
            fields.wrong(name, "The kind " + kind + " has none: leave it out.");
        }
        return otherwise;
    }
}
