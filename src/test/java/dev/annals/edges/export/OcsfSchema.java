package dev.annals.edges.export;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;

/** Checks an event against the facts of {@code ocsf-1.6.0.json}. */
final class OcsfSchema {

    private OcsfSchema() {}

    static void check(JsonNode schema, String type, JsonNode object) {
        JsonNode rules = schema.get(type);
        assertThat(object.isObject()).as(type).isTrue();
        rules.get("required")
                .forEach(name -> assertThat(object.has(name.asText()))
                        .as("%s.%s in %s", type, name.asText(), object)
                        .isTrue());
        if (rules.has("at_least_one")) {
            assertThat(rules.get("at_least_one"))
                    .as("at least one in %s: %s", type, object)
                    .anyMatch(name -> object.has(name.asText()));
        }
        object.fieldNames().forEachRemaining(name -> {
            JsonNode rule = rules.get("attributes").get(name);
            assertThat(rule).as("%s has no attribute %s", type, name).isNotNull();
            if (rule.has("array")) {
                assertThat(object.get(name).isArray()).as(name).isTrue();
                object.get(name).forEach(value -> checkValue(schema, rule, object, name, value));
            } else {
                checkValue(schema, rule, object, name, object.get(name));
            }
        });
    }

    private static void checkValue(JsonNode schema, JsonNode rule, JsonNode object, String name, JsonNode value) {
        switch (rule.get("type").asText()) {
            case "string" -> assertThat(value.isTextual()).as(name).isTrue();
            case "ip" -> assertThat(value.asText()).as(name).matches("[0-9A-Fa-f:.]{2,40}");
            case "datetime" ->
                assertThat(value.asText())
                        .as(name)
                        .matches("\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(?:\\.\\d+)?([Zz]|[+-]\\d{2}:\\d{2})?");
            case "long" ->
                assertThat(value.canConvertToLong() && value.isIntegralNumber())
                        .as(name)
                        .isTrue();
            case "integer" -> {
                assertThat(value.canConvertToInt() && value.isIntegralNumber())
                        .as(name)
                        .isTrue();
                if (rule.has("enum")) {
                    assertThat(rule.get("enum")).as(name).anyMatch(allowed -> allowed.asInt() == value.asInt());
                }
                if (rule.has("sibling")) {
                    checkSibling(rule, object, value);
                }
            }
            case "any" -> {}
            default -> check(schema, rule.get("type").asText(), value);
        }
    }

    /** The caption of the id; where the id is 99, the source's own word. */
    private static void checkSibling(JsonNode rule, JsonNode object, JsonNode value) {
        JsonNode sibling = object.get(rule.get("sibling").asText());
        assertThat(sibling).as(rule.get("sibling").asText()).isNotNull();
        if (value.asInt() != 99) {
            assertThat(sibling).isEqualTo(rule.get("captions").get(value.asText()));
        }
    }
}
