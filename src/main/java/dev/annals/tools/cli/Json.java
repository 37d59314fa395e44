package dev.annals.tools.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;

/** How the client reads and writes JSON. Mappers are made when one is needed: many commands pass records on unread. */
final class Json {

    /** Accepts names as long as metadata may have them. */
    static final JsonFactory FACTORY = JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNameLength(Integer.MAX_VALUE)
                    .build())
            .build();

    private Json() {}

    static ObjectMapper mapper() {
        return Plain.MAPPER;
    }

    /** Keeps all digits of a number. */
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
