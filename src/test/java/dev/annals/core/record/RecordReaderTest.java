package dev.annals.core.record;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.annals.BesideTheService;
import dev.annals.Load;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.FieldError;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.InstantSource;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@BesideTheService
class RecordReaderTest {

    private static final String ID = "019a9d5e-7c3a-7f00-8a4e-2b1c0d9e8f7a";
    private static final String NOW = "2026-03-01T12:00:00.123456Z";

    private final RecordReader reader = new RecordReader(
            new SequentialGuid(), InstantSource.fixed(Instant.parse("2026-03-01T12:00:00.123456789Z")));

    @Test
    void everyFieldOfARecordIsRead() {
        AuditRecord record = one("""
                {"id": "019A9D5E-7c3a-7f00-8a4e-2b1c0d9e8f7a", "action": "volume_create",
                 "actor": {"type": "user", "id": "u-1", "name": "jane@example.org"},
                 "subject": {"name": "cache"}, "outcome": "success", "ip_address": "2001:DB8:0:0::1",
                 "message": "Volume 'cache' ✓ \\ud83d\\ude00", "timestamp": "2025-09-03T13:15:19.391447+02:00",
                 "metadata": { "size": 1.50, "tags": ["a", null, true] }}""");
        assertThat(record)
                .isEqualTo(new AuditRecord(
                        UUID.fromString(ID),
                        "volume_create",
                        new Party("user", "u-1", "jane@example.org"),
                        new Party(null, null, "cache"),
                        "success",
                        "2001:db8::1",
                        "Volume 'cache' ✓ 😀",
                        OffsetDateTime.parse("2025-09-03T11:15:19.391447Z"),
                        false,
                        """
                                { "size": 1.50, "tags": ["a", null, true] }"""));
    }

    @Test
    void anActionAloneIsARecordAndTheRestIsAssignedOrAbsent() {
        AuditRecord record = one("{\"action\":\"a\"}");
        assertThat(record.id().version()).isEqualTo(7);
        assertThat(record.idAssigned()).isTrue();
        assertThat(record.timestamp()).isEqualTo(OffsetDateTime.parse(NOW));
        assertThat(record.timestampAssigned()).isTrue();
        assertThat(record)
                .usingRecursiveComparison()
                .ignoringFields("idAssigned")
                .isEqualTo(new AuditRecord(
                        record.id(), "a", null, null, null, null, null, OffsetDateTime.parse(NOW), true, null));
    }

    @Test
    void anExplicitNullIsAsGoodAsAnAbsentField() {
        AuditRecord record = one("""
                {"id":null,"action":"a","actor":null,"subject":{"type":null,"id":"x"},"outcome":null,
                 "ip_address":null,"message":null,"timestamp":null,"metadata":null}""");
        assertThat(record.subject()).isEqualTo(new Party(null, "x", null));
        assertThat(record.actor()).isNull();
        assertThat(record.timestampAssigned()).isTrue();
        assertThat(record.metadata()).isNull();
    }

    @Test
    void emptyMetadataIsAsGoodAsNone() {
        assertThat(one("""
                {"action":"a","metadata":{ }}""").metadata()).isNull();
    }

    @Test
    void aBatchIsReadInTheOrderSentAndItsAssignedIdsIncrease() {
        List<AuditRecord> sent = reader.readBatch(utf8(batch(repeat("{\"action\":\"a\"}", 1_000))));
        assertThat(sent).hasSize(1_000);
        for (int i = 1; i < 1_000; i++) {
            assertThat(SequentialGuid.compare(sent.get(i - 1).id(), sent.get(i).id()))
                    .isNegative();
        }
        assertThat(reader.readBatch(utf8(" { \"records\" : [ {\"action\":\"a\"} ] } \n")))
                .hasSize(1);
    }

    @Test
    void aLineIsReadFromTheMiddleOfABufferAndARefusedOneDoesNotStopTheNext() {
        String first = """
                {"action":"é1","metadata":{"k":"ü"}}""";
        String bad = "{\"action\":}";
        String last = """
                {"action":"a3","metadata":{"n":3}}""";
        byte[] buffer = utf8(first + "\n" + bad + "\n" + last + "\n");
        int secondFrom = utf8(first).length + 1;
        int thirdFrom = secondFrom + utf8(bad).length + 1;
        AuditRecord one = reader.readLine(buffer, 0, secondFrom);
        Problem refused = problem(() -> reader.readLine(buffer, secondFrom, thirdFrom));
        AuditRecord three = reader.readLine(buffer, thirdFrom, buffer.length);
        assertThat(one.action()).isEqualTo("é1");
        assertThat(one.metadata()).isEqualTo("{\"k\":\"ü\"}");
        assertThat(refused.type()).isEqualTo(ProblemType.MALFORMED_JSON);
        assertThat(refused.detail()).contains("at column 11").doesNotContain("line");
        assertThat(three.metadata()).isEqualTo("{\"n\":3}");
    }

    @Test
    void aLineHoldsOneRecordAndNoArray() {
        byte[] array = utf8("[{\"action\":\"a\"}]");
        assertThat(problem(() -> reader.readLine(array, 0, array.length)).errors())
                .containsExactly(new FieldError("", "must be a record: an object"));
        byte[] two = utf8("""
                {"action":"a"} {"action":"b"}""");
        assertThat(problem(() -> reader.readLine(two, 0, two.length)).type()).isEqualTo(ProblemType.MALFORMED_JSON);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
                {"action":"a",}|1|15
                {"action":"a"|1|1
                {"action" "a"}|1|11
                {'action':"a"}|1|2
                [{"action":"a"},]|1|17
                {"action":"\\x"}|1|13
                {"action":"a"}}|1|1
                {"action":"a"}{}|1|15
                {"action":NaN}|1|1
                {"action":01}|1|1
                nope|1|1
                /* */{}|1|1
                """)
    void malformedJsonIsRefusedWithLineAndColumn(String body, int line, int column) {
        Problem problem = refused(body);
        assertThat(problem.type()).isEqualTo(ProblemType.MALFORMED_JSON);
        assertThat(problem.detail())
                .startsWith("The JSON is malformed at line " + line + ", column ")
                .doesNotContain("`")
                .doesNotContain("Source");
        int told = Integer.parseInt(problem.detail().replaceAll("(?s).*?column (\\d+).*", "$1"));
        assertThat(told).isGreaterThanOrEqualTo(column).isLessThanOrEqualTo(body.length() + 1);
    }

    @Test
    void lineAndColumnAreThoseOfTheFault() {
        assertThat(refused("{\n  \"action\": \"a\",\n  oops\n}").detail()).contains("line 3, column 3");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "\n"})
    void anEmptyBodyIsMalformed(String body) {
        assertThat(refused(body).type()).isEqualTo(ProblemType.MALFORMED_JSON);
    }

    @ParameterizedTest
    @ValueSource(strings = {"1", "\"a\"", "null", "true", "[1]", "[null]", "[[]]", "[[{\"action\":\"a\"}]]"})
    void aValueThatIsNoObjectIsNoRecord(String body) {
        assertThat(refused(body).errors()).singleElement().satisfies(error -> {
            assertThat(error.pointer()).isEmpty();
            assertThat(error.detail())
                    .contains(body.startsWith("[") ? "POST /v1/project-logs/batch" : "must be a record: an object");
        });
        assertThat(refusedBatch(batch(body)).errors())
                .containsExactly(new FieldError("/records/0", "must be a record: an object"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
                []||must be an object with records
                7||must be an object with records
                {}|/records|is required
                {"records":[]}|/records|must hold at least one record
                {"records":null}|/records|must be an array of 1 to 1000 records
                {"records":{"action":"a"}}|/records|must be an array of 1 to 1000 records
                {"records":[{"action":"a"}],"records":[{"action":"a"}]}|/records|is there twice
                {"records":[{"action":"a"}],"x/y":[{"records":1}]}|/x~1y|is not a field of a batch
                {"x":[{"records":1}],"records":[{"action":"a"}]}|/x|is not a field of a batch
                """)
    void aValueThatIsNoBatchIsRefused(String body, String pointer, String detail) {
        Problem problem = refusedBatch(body);
        assertThat(problem.type()).isEqualTo(ProblemType.INVALID_RECORD);
        assertThat(problem.errors()).hasSize(1);
        assertThat(problem.errors().get(0).pointer()).isEqualTo(pointer == null ? "" : pointer);
        assertThat(problem.errors().get(0).detail()).contains(detail);
    }

    @Test
    void aThousandAndOneRecordsAreTooMany() {
        Problem problem = refusedBatch(batch(repeat("{\"action\":\"a\"}", 1_001)));
        assertThat(problem.type()).isEqualTo(ProblemType.TOO_MANY_RECORDS);
        assertThat(problem.status()).isEqualTo(422);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
                /action|{}|is required
                /action|{"action":null}|is required
                /action|{"action":""}|must have 1 to 255 characters
                /action|{"action":7}|must be a string
                /action|{"action":{"a":[1]}}|must be a string
                /action|{"action":"a","action":"b"}|is there twice
                /outcome|{"action":"a","outcome":""}|must have 1 to 64 characters
                /outcome|{"action":"a","outcome":true}|must be a string
                /message|{"action":"a","message":[]}|must be a string
                /id|{"action":"a","id":"1-1-1-1-1"}|must be a UUID
                /id|{"action":"a","id":"019a9d5e7c3a7f008a4e2b1c0d9e8f7a"}|must be a UUID
                /id|{"action":"a","id":"019a9d5e-7c3a-7f00-8a4e-2b1c0d9e8f7g"}|must be a UUID
                /id|{"action":"a","id":17}|must be a string
                /sequence_id|{"action":"a","sequence_id":1}|is set by the service
                /recorded_at|{"action":"a","recorded_at":null}|is set by the service
                /actor|{"action":"a","actor":"jane"}|must be an object
                /actor|{"action":"a","actor":{}}|must have at least one
                /actor|{"action":"a","actor":{"id":null}}|must have at least one
                /actor/id|{"action":"a","actor":{"id":7}}|must be a string
                /actor/id|{"action":"a","actor":{"id":"x","id":"x"}}|is there twice
                /subject/mail|{"action":"a","subject":{"id":"x","mail":"y"}}|leave it out
                /when|{"action":"a","when":{"x":[]}}|is not a field of a record
                /Action|{"action":"a","Action":"a"}|is not a field of a record
                /a~1b~0c|{"action":"a","a/b~c":1}|is not a field of a record
                /ip_address|{"action":"a","ip_address":"localhost"}|must be an IPv4 or IPv6 address
                /ip_address|{"action":"a","ip_address":"10.0.0.0/8"}|must be an IPv4 or IPv6 address
                /ip_address|{"action":"a","ip_address":167772160}|must be a string
                /timestamp|{"action":"a","timestamp":"2025-09-03"}|must be an RFC 3339 timestamp
                /timestamp|{"action":"a","timestamp":"99999-01-01T00:00:00Z"}|must be an RFC 3339 timestamp
                /timestamp|{"action":"a","timestamp":1756898119}|must be a string
                /metadata|{"action":"a","metadata":[]}|must be an object
                /metadata|{"action":"a","metadata":"x"}|must be an object
                /metadata/k|{"action":"a","metadata":{"k":1,"k":1}}|is there twice
                /metadata/l/1/k|{"action":"a","metadata":{"l":[{},{"k":1,"\\u006b":1}]}}|is there twice
                /metadata|{"action":"a","metadata":{},"metadata":{}}|is there twice
                /metadata/k|{"action":"a","metadata":{"k":1e309}}|must be a number
                /metadata/k/0|{"action":"a","metadata":{"k":[1E-399]}}|must be a number
                /metadata/k|{"action":"a","metadata":{"k":1e99999999999999}}|must be a number
                /message|{"action":"a","message":"\\u0000"}|NUL
                /metadata/k|{"action":"a","metadata":{"k":"a\\u0000"}}|NUL
                /actor/name|{"action":"a","actor":{"name":"\\u0000"}}|NUL
                /message|{"action":"a","message":"\\ud800"}|surrogate
                /message|{"action":"a","message":"\\udc00\\ud800"}|surrogate
                /metadata/k|{"action":"a","metadata":{"k":"\\ud83dx"}}|surrogate
                /id|{"action":"a","id":"\\ud800"}|surrogate
                """)
    void aWrongFieldIsNamedByItsPointer(String pointer, String body, String detail) {
        Problem problem = refused(body);
        assertThat(problem.type()).as(problem.detail()).isEqualTo(ProblemType.INVALID_RECORD);
        assertThat(problem.status()).isEqualTo(422);
        assertThat(problem.errors()).hasSize(1);
        assertThat(problem.errors().get(0).pointer()).isEqualTo(pointer);
        assertThat(problem.errors().get(0).detail()).contains(detail);
        Problem inBatch = refusedBatch(batch("{\"action\":\"first\"}," + body));
        assertThat(inBatch.errors())
                .containsExactly(new FieldError(
                        "/records/1" + pointer, problem.errors().get(0).detail()));
    }

    @Test
    void aNulOrHalfASurrogatePairInAKeyOfMetadataIsRefused() {
        assertThat(refused("""
                {"action":"a","metadata":{"a\\u0000":1}}""").errors())
                .containsExactly(new FieldError("/metadata/a\0", "must not contain the NUL character"));
        for (String key : List.of("\\udead", "\\ud83d", "\\ud83dx", "\\ud83d\\ud83d", "\\ude00\\ud83d")) {
            assertThat(refused("{\"action\":\"a\",\"metadata\":{\"" + key + "\":1}}")
                            .toString())
                    .containsIgnoringCase("surrogate");
        }
    }

    @Test
    void charactersOfEveryLengthAndEscapedPairsAreTaken() {
        AuditRecord record = one(
                "{\"action\":\"é€😀\",\"message\":\"\\ud83d\\ude00\\n\",\"metadata\":{\"\\ud83d\\ude00\":\"\\u0001\"}}");
        assertThat(record.action()).isEqualTo("é€😀");
        assertThat(record.message()).isEqualTo("😀\n");
        assertThat(record.metadata()).isEqualTo("{\"\\ud83d\\ude00\":\"\\u0001\"}");
    }

    @Test
    void allWrongFieldsAreNamedAtOnce() {
        Problem problem = refusedBatch("""
                {"records": [{"action": "a", "ip_address": "x", "timestamp": "x", "extra": [1, {"y": 2}], "id": 5},
                 7,
                 {"actor": {"type": 1, "kind": 2}, "metadata": {"n": [1e999, "ok"]}}]}""");
        assertThat(problem.errors())
                .extracting(FieldError::pointer)
                .containsExactly(
                        "/records/0/ip_address",
                        "/records/0/timestamp",
                        "/records/0/extra",
                        "/records/0/id",
                        "/records/1",
                        "/records/2/actor/type",
                        "/records/2/actor/kind",
                        "/records/2/metadata/n/0",
                        "/records/2/action");
        assertThat(problem.detail()).startsWith("9 fields are wrong");
    }

    @Test
    void noMoreThanAHundredWrongFieldsAreNamed() {
        Problem problem = refusedBatch(batch(repeat("{}", 101)));
        assertThat(problem.errors()).hasSize(100);
        assertThat(problem.detail()).startsWith("These are the first 100 wrong fields");
    }

    @Test
    void aVeryLongNameIsCutInItsPointer() {
        FieldError error = refused("{\"action\":\"a\",\"" + "x".repeat(60_000) + "\":1}")
                .errors()
                .get(0);
        assertThat(error.pointer()).hasSize(301).endsWith("…");
    }

    @Test
    void theSameIdTwiceInOneRequestIsRefused() {
        String record = "{\"action\":\"a\",\"id\":\"" + ID + "\"}";
        assertThat(refusedBatch(batch(record + ",{\"action\":\"b\"}," + record)).errors())
                .containsExactly(
                        new FieldError("/records/2/id", "is the id of /records/0 too: give each record its own"));
    }

    @Test
    void lengthsAreCountedInCharactersAndNotInBytesOrHalves() {
        one("{\"action\":\"" + "😀".repeat(255) + "\",\"outcome\":\"" + "é".repeat(64) + "\"}");
        assertThat(refused("{\"action\":\"" + "😀".repeat(256) + "\"}")
                        .errors()
                        .get(0)
                        .detail())
                .isEqualTo("must have 1 to 255 characters");
        assertThat(refused("{\"action\":\"a\",\"outcome\":\"" + "é".repeat(65) + "\"}")
                        .errors())
                .hasSize(1);
        one("{\"action\":\"a\",\"actor\":{\"type\":\"" + "t".repeat(255) + "\",\"id\":\"" + "i".repeat(1_024) + "\"}}");
        assertThat(refused("{\"action\":\"a\",\"actor\":{\"type\":\"" + "t".repeat(256) + "\",\"id\":\""
                                + "i".repeat(1_025) + "\",\"name\":\"" + "n".repeat(1_025) + "\"}}")
                        .errors())
                .extracting(FieldError::pointer)
                .containsExactly("/actor/type", "/actor/id", "/actor/name");
    }

    @Test
    void aRecordMayHave65535BytesAndNoMore() {
        String frame = """
                {"action":"a","message":""}""";
        String largest = "{\"action\":\"a\",\"message\":\"" + "é".repeat((65_535 - frame.length()) / 2)
                + ((65_535 - frame.length()) % 2 == 0 ? "" : "x") + "\"}";
        assertThat(utf8(largest)).hasSize(65_535);
        one("  " + largest + "  ");
        String larger = largest.replace("\"a\"", "\"ab\"");
        assertThat(refused(larger).errors()).extracting(FieldError::pointer).containsExactly("");
        assertThat(refusedBatch(batch("{\"action\":\"a\"},\n" + larger)).errors())
                .containsExactly(new FieldError(
                        "/records/1", "is a record of more than 65535 bytes: shorten its message or metadata"));
    }

    @Test
    void escapesAndWhiteSpaceDoNotCountAsBytesOfARecord() {
        String frame = "{\"action\":\"a\",\"message\":\"%s\"}";
        int most = 65_535 - frame.length() + 2;
        for (String escaped :
                List.of("\\u0001", "\\n", "\\\"", "\\\\", "\\u00e9", "\\u20AC", "\\ud83d\\ude00", "\\/")) {
            int bytes = utf8(one("{\"action\":\"" + escaped + "\"}").action()).length;
            String largest = frame.formatted(escaped.repeat(most / bytes) + "x".repeat(most % bytes));
            one(largest);
            one(largest.replace(",", " ,\r\n\t" + " ".repeat(100)));
            assertThat(refused(largest.replace("\"a\"", "\"ab\"")).errors())
                    .as(escaped)
                    .containsExactly(new FieldError(
                            "", "is a record of more than 65535 bytes: shorten its message or metadata"));
        }
        one("{\"action\":\"a\",\"metadata\":{\"\\u00e9\\u00e9\":\"" + "\\u00e9".repeat(32_000) + "\"}}");
        assertThat(refused("{\"action\":\"a\",\"metadata\":{\"x\":\"" + "\\u0001".repeat(32_000) + "\"}}")
                        .errors())
                .extracting(FieldError::pointer)
                .containsExactly("/metadata");
        assertThat(refused("{\"action\":" + " ".repeat(RecordReader.MAX_SENT_BYTES) + "\"a\"}")
                        .errors())
                .extracting(FieldError::detail)
                .containsExactly(
                        "is a record of more than 393210 bytes as it is sent: shorten its message or metadata");
    }

    @Test
    void metadataMayHave32LevelsAndNoMore() {
        one("{\"action\":\"a\",\"metadata\":" + nested(32) + "}");
        assertThat(refused("{\"action\":\"a\",\"metadata\":" + nested(33) + "}").errors())
                .singleElement()
                .extracting(FieldError::detail)
                .isEqualTo("is nested too deeply: metadata may have 32 levels");
    }

    @ParameterizedTest
    @ValueSource(ints = {100, 999, 1_001, 20_000, 1_000_000})
    void depthIsRefusedHoweverDeepAndWhereverItIs(int depth) {
        for (String field : List.of("metadata", "message", "actor", "unknown")) {
            for (String open : List.of("[", "{\"k\":")) {
                Problem problem = refused("{\"action\":\"a\",\"" + field + "\":{\"k\":" + open.repeat(depth));
                assertThat(problem.type()).isIn(ProblemType.INVALID_RECORD, ProblemType.MALFORMED_JSON);
            }
        }
        assertThat(refused("[".repeat(depth)).status()).isIn(400, 422);
        for (String body : List.of("[".repeat(depth), "{\"records\":" + "[".repeat(depth), "{\"x\":".repeat(depth))) {
            assertThat(refusedBatch(body).status()).isIn(400, 422);
        }
    }

    @Test
    void numbersKeepTheDigitsTheyWereSentWith() {
        String metadata = "{\"a\":0.1000,\"b\":-0,\"c\":" + "9".repeat(308)
                + ",\"d\":1e300,\"e\":1E-300,\"f\":12345678901234567890.5}";
        assertThat(one("{\"action\":\"a\",\"metadata\":" + metadata + "}").metadata())
                .isEqualTo(metadata);
        assertThat(refused("{\"action\":\"a\",\"metadata\":{\"n\":" + "9".repeat(309) + "}}")
                        .errors())
                .hasSize(1);
        assertThat(refused("{\"action\":\"a\",\"metadata\":{\"n\":0." + "9".repeat(50_000) + "}}")
                        .errors())
                .hasSize(1);
    }

    @Test
    void aDuplicateAmongManyKeysIsFound() {
        String keys = IntStream.range(0, 1_000)
                .mapToObj(i -> "\"k" + i + "\":{\"k" + i + "\":1}")
                .collect(Collectors.joining(","));
        one("{\"action\":\"a\",\"metadata\":{" + keys + "}}");
        assertThat(refused("{\"action\":\"a\",\"metadata\":{" + keys + ",\"k5\":1,\"k999\":1}}")
                        .errors())
                .extracting(FieldError::pointer)
                .containsExactly("/metadata/k5", "/metadata/k999");
    }

    @Test
    void bytesThatAreNoUtf8AreLocated() {
        byte[][] faults = {
            {(byte) 0xFF},
            {(byte) 0x80},
            {(byte) 0xC3},
            {(byte) 0xC0, (byte) 0x80},
            {(byte) 0xE0, (byte) 0x80, (byte) 0x80},
            {(byte) 0xED, (byte) 0xA0, (byte) 0x80},
            {(byte) 0xF0, (byte) 0x80, (byte) 0x80, (byte) 0x80},
            {(byte) 0xF4, (byte) 0x90, (byte) 0x80, (byte) 0x80},
            {(byte) 0xF5, (byte) 0x80, (byte) 0x80, (byte) 0x80},
        };
        for (byte[] fault : faults) {
            ByteArrayOutputStream body = new ByteArrayOutputStream();
            body.writeBytes(utf8("{\"action\":\n\"some é text "));
            body.writeBytes(fault);
            body.writeBytes(utf8("\"}"));
            Problem problem = problem(() -> reader.readRecord(body.toByteArray()));
            assertThat(problem.type()).isEqualTo(ProblemType.MALFORMED_JSON);
            assertThat(problem.detail()).contains("line 2, column 15: Invalid UTF-8");
        }
    }

    @Test
    void aRawNulAndOtherEncodingsAreMalformed() {
        assertThat(refused("{\"action\":\"a\0\"}").type()).isEqualTo(ProblemType.MALFORMED_JSON);
        assertThat(refused("\uFEFF{\"action\":\"a\"}").type()).isEqualTo(ProblemType.MALFORMED_JSON);
        byte[] utf16 = "{\"action\":\"a\"}".getBytes(StandardCharsets.UTF_16LE);
        assertThat(problem(() -> reader.readRecord(utf16)).type()).isEqualTo(ProblemType.MALFORMED_JSON);
    }

    @Test
    void manyKeysOfOneHashAreHandledLikeOthers() {
        Set<String> keys = new HashSet<>();
        for (int i = 0; i < 1_024; i++) {
            StringBuilder key = new StringBuilder();
            for (int bit = 0; bit < 10; bit++) {
                key.append((i >> bit & 1) == 0 ? "Aa" : "BB");
            }
            keys.add("\"" + key + "\":1");
        }
        one("{\"action\":\"a\",\"metadata\":{" + String.join(",", keys) + "}}");
    }

    @Test
    void randomlyDamagedJsonIsReadOrRefusedAndNeverFailsOtherwise() {
        Random random = new Random(20260301);
        byte[] sound = utf8("""
                {"records":[{"id":"019a9d5e-7c3a-7f00-8a4e-2b1c0d9e8f7a","action":"volume_create","actor":{"type":"user","id":"é"},
                "subject":{"name":"cache"},"outcome":"success","ip_address":"::ffff:10.0.0.1","message":"\\ud83d\\ude00 \\n",
                "timestamp":"2025-09-03T13:15:19.391447+02:00","metadata":{"n":[1,-2.5e3,{"k":null}],"t":true}},
                {"action":"b","metadata":{"a":{"b":{"c":"d"}}}}]}""");
        int read = 0;
        for (int i = 0; i < Load.times(8_000, 500_000); i++) {
            byte[] damaged = sound.clone();
            int faults = 1 + random.nextInt(4);
            for (int f = 0; f < faults; f++) {
                int at = random.nextInt(damaged.length);
                damaged[at] = switch (random.nextInt(4)) {
                    case 0 -> (byte) random.nextInt(256);
                    case 1 -> (byte) "{}[]\",:\\0e-.tn".charAt(random.nextInt(14));
                    case 2 -> damaged[random.nextInt(damaged.length)];
                    default -> (byte) (damaged[at] ^ 1 << random.nextInt(8));
                };
            }
            int to = random.nextInt(3) == 0 ? random.nextInt(damaged.length) : damaged.length;
            byte[] body = Arrays.copyOf(damaged, to);
            read += clean(() -> reader.readBatch(body)) ? 1 : 0;
            clean(() -> reader.readRecord(body));
            int from = random.nextInt(to + 1);
            clean(() -> reader.readLine(body, from, to));
        }
        assertThat(read).isPositive();
    }

    @Test
    void randomBytesAreRefusedAndNeverFailOtherwise() {
        Random random = new Random(7);
        for (int i = 0; i < Load.times(8_000, 500_000); i++) {
            byte[] body = new byte[random.nextInt(60)];
            random.nextBytes(body);
            clean(() -> reader.readRecord(body));
            clean(() -> reader.readBatch(body));
        }
    }

    private boolean clean(ThrowingCallable reading) {
        try {
            reading.call();
            return true;
        } catch (ProblemException e) {
            Problem problem = e.problem();
            boolean isOurs = (problem.status() == 400 || problem.status() == 422)
                    && !problem.detail().contains("com.fasterxml")
                    && !problem.detail().contains("Source");
            // Hundreds of thousands of times: an assertion for each would take longer than what is tested.
            if (!isOurs || problem.toJson().length == 0) {
                throw new AssertionError("Not a problem for clients: " + problem);
            }
            return false;
        } catch (Throwable e) {
            throw new AssertionError("Neither read nor refused", e);
        }
    }

    private AuditRecord one(String body) {
        AuditRecord record = reader.readRecord(utf8(body));
        byte[] line = utf8("\n" + body + "\n");
        AuditRecord again = reader.readLine(line, 1, line.length - 1);
        assertThat(again).usingRecursiveComparison().ignoringFields("id").isEqualTo(record);
        return record;
    }

    private Problem refused(String body) {
        return problem(() -> reader.readRecord(utf8(body)));
    }

    private Problem refusedBatch(String body) {
        return problem(() -> reader.readBatch(utf8(body)));
    }

    private static String batch(String records) {
        return "{\"records\":[" + records + "]}";
    }

    private static Problem problem(ThrowingCallable reading) {
        ProblemException thrown = catchThrowableOfType(ProblemException.class, reading);
        assertThat(thrown).as("a refusal").isNotNull();
        return thrown.problem();
    }

    private static String nested(int levels) {
        return "{\"k\":".repeat(levels - 1) + "[]" + "}".repeat(levels - 1);
    }

    private static String repeat(String record, int times) {
        return String.join(",", Collections.nCopies(times, record));
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
