package dev.annals.tools.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;

/** JSON of the client. Mappers are created on demand, because many commands copy records unread. */
final class Json {

    /** Accepts long names, which metadata may have. */
    static final JsonFactory FACTORY = JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNameLength(Integer.MAX_VALUE)
                    .build())
            .build();

    private Json() {}

    static ObjectMapper mapper() {
        return Plain.MAPPER;
    }

    /** A mapper that keeps all digits of numbers. */
    static ObjectMapper exact() {
        return Exact.MAPPER;
    }

    private static final class Plain {
        static final ObjectMapper MAPPER = new ObjectMapper(FACTORY.copy());
    }

    private static final class Exact {
        static final ObjectMapper MAPPER = JsonMapper.builder(FACTORY.copy())
                .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
                .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
                .build();
    }
}
