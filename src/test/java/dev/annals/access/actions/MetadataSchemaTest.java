package dev.annals.access.actions;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.BesideTheService;
import dev.annals.kernel.http.FieldError;
import java.io.IOException;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A schema checks metadata by JSON Schema 2020-12, and none takes long, fetches anything or recurses. */
@BesideTheService
class MetadataSchemaTest {

    private static final ObjectMapper JSON = new ObjectMapper();

    private static @Nullable FieldError wrong(String schema) throws IOException {
        return MetadataSchema.wrong(JSON.readTree(schema.replace('\'', '"')));
    }

    private static @Nullable FieldError misfit(String schema, @Nullable String metadata) throws IOException {
        JsonNode checked = JSON.readTree(schema.replace('\'', '"'));
        assertThat(MetadataSchema.wrong(checked)).as(schema).isNull();
        return new MetadataSchema(checked.toString()).misfit(metadata == null ? null : metadata.replace('\'', '"'));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            {'required': ['a']} | {'a': 1} | {}
            {'properties': {'a': {'type': 'integer', 'minimum': 1}}} | {'a': 1.0, 'b': 'x'} | {'a': 0}
            {'additionalProperties': false, 'properties': {'a': true}} | {'a': 1} | {'b': 1}
            {'properties': {'a': {'multipleOf': 0.01}}} | {'a': 19.99} | {'a': 19.999}
            {'properties': {'a': {'pattern': 'b+'}}} | {'a': 'abba'} | {'a': 'aa'}
            {'properties': {'a': {'pattern': '^(\\\\p{Greek}+)$'}}} | {'a': 'αβγ'} | {'a': 'abc'}
            {'patternProperties': {'^x-': {'type': 'string'}}} | {'x-a': 'b', 'a': 1} | {'x-a': 1}
            {'properties': {'a': {'$ref': '#/$defs/id'}}, '$defs': {'id': {'maxLength': 2}}} | {'a': 'bb'} | {'a': 'bbb'}
            {'properties': {'a': {'oneOf': [{'const': 1}, {'enum': [2, 3]}]}}} | {'a': 3} | {'a': 4}
            {'if': {'properties': {'a': {'const': 1}}}, 'then': {'required': ['b']}} | {'a': 2} | {'a': 1}
            {'properties': {'a': {'prefixItems': [{'type': 'string'}], 'items': {'type': 'null'}}}} | {'a': ['x', null]} | {'a': ['x', 1]}
            {'properties': {'a': {'not': {'type': 'array', 'uniqueItems': true}}}} | {'a': [1, 1]} | {'a': [1, 2]}
            {'dependentRequired': {'a': ['b']}, 'maxProperties': 2} | {'a': 1, 'b': 2} | {'a': 1}
            """)
    void metadataFitsOrDoesNot(String schema, String fitting, String other) throws IOException {
        assertThat(misfit(schema, fitting)).isNull();
        FieldError error = misfit(schema, other);
        assertThat(error).isNotNull();
        assertThat(error.pointer()).startsWith("/metadata");
        assertThat(error.detail()).isNotEmpty().hasSizeLessThan(400);
    }

    @Test
    void noMetadataIsAnEmptyObject() throws IOException {
        assertThat(misfit("{'required': ['a']}", null)).isNotNull();
        assertThat(misfit("{'maxProperties': 0}", null)).isNull();
    }

    @Test
    void formatIsNotChecked() throws IOException {
        assertThat(misfit("{'properties': {'a': {'format': 'date-time'}}}", "{'a': 'yesterday'}"))
                .isNull();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "true",
                "{'type': 'strnig'}",
                "{'required': 'a'}",
                "{'properties': {'a': 1}}",
                "{'requried': ['a']}",
                "{'$ref': 'http://127.0.0.1:9/schema'}",
                "{'$ref': 'file:///etc/passwd'}",
                "{'$ref': 'classpath:/draft/2020-12/schema'}",
                "{'$ref': '#'}",
                "{'$ref': '#/properties/a', 'properties': {'a': {}}}",
                "{'$ref': '#/$defs/missing'}",
                "{'$id': 'http://127.0.0.1:9/', '$ref': 'schema'}",
                "{'$schema': 'http://127.0.0.1:9/schema'}",
                "{'$schema': 'http://json-schema.org/draft-07/schema#'}",
                "{'$dynamicRef': '#a', '$dynamicAnchor': 'a'}",
                "{'$anchor': 'a'}",
                "{'$vocabulary': {'http://127.0.0.1:9/': true}}",
                "{'$defs': {'a': {'$ref': '#/$defs/a'}}}",
                "{'$defs': {'a': {'properties': {'x': {'$ref': '#/$defs/b'}}}, 'b': {'items': {'$ref': '#/$defs/a'}}}}",
                "{'properties': {'a': {'$defs': {'b': {}}}}}",
                "{'unevaluatedProperties': false}",
                "{'pattern': '(a)\\\\1'}",
                "{'pattern': '(?=a)a'}",
                "{'pattern': '('}",
                "{'pattern': '((a{100}){100}){100}'}",
                "{'pattern': '(((a{1,9}){1,9}){1,9}){1,9}'}",
                "{'patternProperties': {'(?<!a)b': true}}",
                "{'$defs': {'a': {'pattern': '[a'}}}",
                "{'properties': {'a': {'minimum': 1e999}}}",
                "{'properties': {'a': {'const': '\\u0000'}}}",
                "{'properties': {'\\u0000': {}}}"
            })
    void aSchemaThatIsWrongOrCouldDoHarmIsRefused(String schema) throws IOException {
        assertThat(wrong(schema)).isNotNull();
    }

    @Test
    void aSchemaIsRefusedBeyondEachLimit() throws IOException {
        assertThat(wrong(nested(SchemaLimits.MAX_DEPTH / 2))).isNull();
        assertThat(wrong(nested(SchemaLimits.MAX_DEPTH / 2 + 1))).isNotNull();
        assertThat(wrong(described(SchemaLimits.MAX_BYTES))).isNull();
        assertThat(wrong(described(SchemaLimits.MAX_BYTES + 1))).isNotNull();
        assertThat(wrong(subschemas(SchemaLimits.MAX_SIZE - 1))).isNull();
        assertThat(wrong(subschemas(SchemaLimits.MAX_SIZE))).isNotNull();
        assertThat(wrong(doubling(5))).isNull();
        // 2 to the power of 30 checks, in 2,000 characters
        assertThat(wrong(doubling(30))).isNotNull();
    }

    private static String nested(int properties) {
        return "{'properties': {'a': ".repeat(properties) + "{}" + "}}".repeat(properties);
    }

    private static String described(int bytes) {
        return "{'title':'" + "x".repeat(bytes - "{'title':''}".length()) + "'}";
    }

    private static String subschemas(int number) {
        return "{'anyOf': [" + "{},".repeat(number - 1) + "{}]}";
    }

    private static String doubling(int times) {
        return IntStream.range(0, times)
                .mapToObj(i -> "'d%1$d': {'allOf': [{'$ref': '#/$defs/d%2$d'}, {'$ref': '#/$defs/d%2$d'}]}"
                        .formatted(i, i + 1))
                .collect(Collectors.joining(", ", "{'$ref': '#/$defs/d0', '$defs': {", ", 'd" + times + "': {}}}"));
    }

    @Test
    void aPatternThatBacktracksWithoutEndElsewhereTakesLinearTime() throws IOException {
        String metadata = "{'a': '" + "a".repeat(60_000) + "!'}";
        assertThat(misfit("{'properties': {'a': {'pattern': '^(a+)+$'}}}", metadata))
                .isNotNull();
        assertThat(misfit("{'properties': {'a': {'pattern': '^(a|aa)*$'}}}", metadata))
                .isNotNull();
    }

    @Test
    void aCheckTakesALimitedNumberOfSteps() throws IOException {
        String schema = "{'properties': {'a': {'items': {'anyOf': [" + "{'const': 2},".repeat(95) + "{'const': 1}]}}}}";
        assertThat(misfit(schema, ones(3_900))).isNull();
        assertThat(misfit(schema, ones(4_096))).isNotNull();
    }

    /** Each check takes a part of a second, whatever stands in the schema and in the metadata. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'not': {'required': [names]}}",
                "{'not': {'dependentRequired': {'x': [names]}}}",
                "{'dependentRequired': {lists}}",
                "{'not': {'const': [names]}}",
                "{'not': {'const': {'a': {'b': [names]}}}}",
                "{'enum': [[[[names]]]]}",
                "{'allOf': [{'$ref': '#/$defs/a'}, {'$ref': '#/$defs/a'}, {'$ref': '#/$defs/a'}]}",
                "{'allOf': [unique]}",
                "{'anyOf': [multiple]}",
                "{'anyOf': [bounds]}"
            })
    void whatASchemaListsCounts(String items) throws IOException {
        String names = listed(400, i -> "'n" + i + "'");
        String schema = "{'properties': {'a': {'items': "
                + items.replace("names", names)
                        .replace("lists", listed(400, i -> "'" + i + "': ['x', 'y']"))
                        .replace("unique", listed(90, i -> "{'uniqueItems': true}"))
                        .replace("multiple", listed(90, i -> "{'multipleOf': 1e-300}"))
                        .replace(
                                "bounds",
                                listed(
                                        90,
                                        i ->
                                                "{'minLength': 1, 'maxLength': 2, 'minimum': 1, 'maximum': 2, 'maxItems': 1}"))
                + "}}, '$defs': {'a': {'required': [" + listed(200, i -> "'n" + i + "'") + "]}}}";
        JsonNode read = JSON.readTree(schema.replace('\'', '"'));
        FieldError tooLarge = MetadataSchema.wrong(read);
        if (tooLarge == null) {
            assertThat(new MetadataSchema(read.toString()).misfit("{\"a\": [" + "{},".repeat(1_999) + "{}]}"))
                    .as(schema)
                    .extracting(FieldError::detail)
                    .asString()
                    .contains("too many values");
        } else {
            assertThat(tooLarge.detail()).contains("too large");
        }
    }

    private static String listed(int number, IntFunction<String> one) {
        return IntStream.range(0, number).mapToObj(one).collect(Collectors.joining(", "));
    }

    private static String ones(int number) {
        return "{'a': [" + "1,".repeat(number - 1) + "1]}";
    }
}
