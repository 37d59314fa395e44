package dev.annals.core.record;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.equalTo;

import dev.annals.ProjectTest;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ValidatableResponse;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The size that a short text grows to in the database, and in answers, is known before it is stored. */
@QuarkusTest
@Timeout(60)
class JsonTextTest extends ProjectTest {

    private static final int MAX_METADATA_BYTES = 131_072;

    @Test
    void numbersAreAsLongAsTheDatabaseWritesThem() throws Exception {
        Random random = new Random(11);
        List<String> numbers = new ArrayList<>(List.of(
                "0",
                "-0",
                "-0.00",
                "0e5",
                "0.00e1",
                "0E-7",
                "1.10",
                "-1.10e1",
                "0.001",
                "0.001e5",
                "1e-3",
                "-12.5E+2",
                "5e-324",
                "1.7976931348623157e308",
                "100e-2",
                "0.10e-1",
                "1e0003",
                "12345678901234567890"));
        for (int i = 0; i < 500; i++) {
            numbers.add((random.nextBoolean() ? "-" : "")
                    + (random.nextBoolean() ? "0" : Integer.toString(1 + random.nextInt(100_000)))
                    + (random.nextBoolean() ? "" : "." + "0".repeat(random.nextInt(4)) + random.nextInt(1_000))
                    + (random.nextBoolean() ? "" : "e" + (random.nextInt(400) - 200)));
        }
        for (String number : numbers) {
            assertThat(JsonText.writtenLength(number.toCharArray(), 0, number.length()))
                    .as(number)
                    .isEqualTo(written(number));
        }
    }

    @Test
    void objectsAreAsLongAsTheDatabaseWritesThem() throws Exception {
        for (String json : List.of(
                "{}",
                "{\"a\":[]}",
                """
                        { "a" : 1e3 , "b":[1,2,{"c":true}] , "d":{"e":null,"f":false} }""",
                "{\"é€😀\":\"\\u0041\\u00e9\\ud83d\\ude00\\/\\\\\\\"\"}",
                "{\"controls\":\"\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\"}")) {
            assertThat(JsonText.writtenBytes(json)).as(json).isEqualTo(written(json));
        }
    }

    private long written(String json) throws SQLException {
        try (Connection connection = log.connect();
                PreparedStatement select = connection.prepareStatement("select octet_length(?::jsonb::text)")) {
            select.setString(1, json);
            try (ResultSet row = select.executeQuery()) {
                row.next();
                return row.getLong(1);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "1e308, 201",
        "1e309, 422",
        "-1e308, 201",
        "-1e309, 422",
        "1e-398, 201",
        "1e-399, 422",
        "1e131071, 422",
        "0e-131071, 422",
        "1e99999999999999999999, 422",
        "5e-324, 201",
        "1.7976931348623157e308, 201",
        "1.79769313486231570001e308, 422",
        "-1.7976931348623158e308, 422"
    })
    void aNumberMayBeAsLargeAsADoubleAndHave400CharactersWhenWrittenOut(String number, int status) {
        ValidatableResponse answer =
                append("{\"list\": [true, {\"n\": " + number + "}]}").statusCode(status);
        if (status == 422) {
            answer.body("errors[0].pointer", equalTo("/metadata/list/1/n"));
        }
    }

    @Test
    void metadataMayHave131072BytesWhenWrittenOut() throws Exception {
        // 300 numbers of 301 characters, which take 5 bytes to send, and a text that fills up.
        String numbers = IntStream.range(0, 300).mapToObj(i -> "1e300").collect(Collectors.joining(","));
        long frame = written("{\"n\":[" + numbers + "],\"t\":\"\"}");
        String text = "x".repeat((int) (MAX_METADATA_BYTES - frame));
        String metadata = "{ \"n\": [" + numbers + "],\n\"t\": \"" + text + "\"}";
        assertThat(written(metadata)).isEqualTo(MAX_METADATA_BYTES);
        append(metadata).statusCode(201);
        append(metadata.replace("\"t\"", "\"tt\"")).statusCode(422).body("errors[0].pointer", equalTo("/metadata"));
    }

    @Test
    void theDigitsThatWereSentAreKept() {
        String id = append("""
                {"a": 12345678901234567890, "b": 1.10, "c": 0.1000}""").statusCode(201).extract().path("id");
        assertThat(project.request().get("/v1/project-logs/" + id).asString())
                .contains("12345678901234567890")
                .contains("1.10")
                .contains("0.1000");
    }

    private ValidatableResponse append(String metadata) {
        return post("{\"action\": \"a\", \"metadata\": " + metadata + "}");
    }

    private ValidatableResponse post(String record) {
        return project.wrongRequest()
                .contentType("application/json")
                .body(record)
                .post("/v1/project-logs")
                .then();
    }
}
