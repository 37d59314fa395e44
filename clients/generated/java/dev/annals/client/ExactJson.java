package dev.annals.client;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;

/** JSON for all records that a feed may hold: with names of any length, and with all digits of numbers. */
public final class ExactJson {
    private ExactJson() {}

    /** A new mapper, for {@link ApiClient#setObjectMapper}. */
    public static ObjectMapper mapper() {
        ObjectMapper mapper = ApiClient.createDefaultObjectMapper();
        // Otherwise Jackson accepts names of at most 50,000 characters, and a feed with a longer one could not be
        // followed.
        mapper.getFactory()
                .setStreamReadConstraints(StreamReadConstraints.builder()
                        .maxNameLength(Integer.MAX_VALUE)
                        .build());
        mapper.enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);
        mapper.enable(JsonGenerator.Feature.WRITE_BIGDECIMAL_AS_PLAIN);
        return mapper;
    }
}
