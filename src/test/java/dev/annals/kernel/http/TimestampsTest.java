package dev.annals.kernel.http;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.OwnClasses;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TimestampsTest {

    @ParameterizedTest
    @CsvSource({
        "2025-09-03T11:15:19.391447Z, 2025-09-03T11:15:19.391447Z",
        "2025-09-03T11:15:19Z, 2025-09-03T11:15:19.000000Z",
        "2025-09-03t11:15:19.5z, 2025-09-03T11:15:19.500000Z",
        "2025-09-03T11:15:19.123456789Z, 2025-09-03T11:15:19.123456Z",
        "2025-09-03T13:15:19+02:00, 2025-09-03T11:15:19.000000Z",
        "2025-09-03T00:15:19-23:59, 2025-09-04T00:14:19.000000Z",
        "2025-09-03T11:15:19-00:00, 2025-09-03T11:15:19.000000Z",
        "2024-02-29T00:00:00Z, 2024-02-29T00:00:00.000000Z",
        "0001-01-01T00:00:00Z, 0001-01-01T00:00:00.000000Z",
        "9999-12-31T23:59:59.999999999Z, 9999-12-31T23:59:59.999999Z",
        "1969-12-31T23:59:59.999999Z, 1969-12-31T23:59:59.999999Z",
        "0000-12-31T23:00:00-01:00, 0001-01-01T00:00:00.000000Z",
        "1990-12-31T23:59:60Z, 1991-01-01T00:00:00.000000Z",
        "1990-12-31T15:59:60-08:00, 1991-01-01T00:00:00.000000Z",
        "2017-01-01T05:29:60.25+05:30, 2017-01-01T00:00:00.250000Z",
        "1972-06-30T23:59:60.999999999Z, 1972-07-01T00:00:00.999999Z",
    })
    void aTimestampIsTakenToUtcAndMicroseconds(String text, String written) {
        OffsetDateTime timestamp = Timestamps.parse(text);
        assertThat(timestamp).isNotNull();
        assertThat(timestamp.getOffset()).isEqualTo(ZoneOffset.UTC);
        assertThat(Timestamps.format(timestamp)).isEqualTo(written);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "now",
                "2025-09-03",
                "2025-09-03T11:15:19",
                "2025-09-03 11:15:19Z",
                "2025-09-03T11:15Z",
                "2025-09-03T11:15:19.Z",
                "2025-09-03T11:15:19.1234567890Z",
                "2025-09-03T11:15:19,5Z",
                "2025-09-03T11:15:19+0200",
                "2025-09-03T11:15:19+02",
                "2025-09-03T11:15:19+24:00",
                "2025-09-03T11:15:19+02:60",
                "2025-09-03T11:15:19Z ",
                "2025-09-03T11:15:19ZZ",
                " 2025-09-03T11:15:19Z",
                "2025-02-29T00:00:00Z",
                "2025-13-01T00:00:00Z",
                "2025-00-01T00:00:00Z",
                "2025-01-00T00:00:00Z",
                "2025-04-31T00:00:00Z",
                "2025-01-01T24:00:00Z",
                "2025-01-01T00:60:00Z",
                "2016-12-31T23:59:61Z",
                "2016-12-31T23:58:60Z",
                "2016-12-31T22:59:60Z",
                "2016-12-30T23:59:60Z",
                "2016-11-30T23:59:60Z",
                "2016-12-31T23:59:60+01:00",
                "2016-12-31T15:59:60-07:00",
                "9999-12-31T23:59:60Z",
                "0000-01-01T00:00:00Z",
                "0001-01-01T00:00:00+00:01",
                "9999-12-31T23:59:59-00:01",
                "99999-01-01T00:00:00Z",
                "+2025-09-03T11:15:19Z",
                "-001-09-03T11:15:19Z",
                "2025-9-03T11:15:19.0Z",
                "２025-09-03T11:15:19Z",
                "2025-W36-3T11:15:19Z",
                "2025-09-03T11:15:19[UTC]"
            })
    void textThatIsNoTimestampIsRefused(String text) {
        assertThat(Timestamps.parse(text)).isNull();
    }

    @ParameterizedTest
    @CsvSource({
        "2025-09-03, 2025-09-03T00:00:00.000000Z",
        "2025-09-03T11:15, 2025-09-03T11:15:00.000000Z",
        "1990-12-31 23:59:60, 1991-01-01T00:00:00.000000Z",
        "2025-09-03t11:15z, 2025-09-03T11:15:00.000000Z",
        "2025-09-03T11:15:19, 2025-09-03T11:15:19.000000Z",
        "2025-09-03 11:15:19.5, 2025-09-03T11:15:19.500000Z",
        "2025-09-03T11:15+02:00, 2025-09-03T09:15:00.000000Z",
        "2025-09-03T11:15 02:00, 2025-09-03T09:15:00.000000Z",
        "2025-09-03 11:15:19-02:00, 2025-09-03T13:15:19.000000Z",
        "0001-01-01, 0001-01-01T00:00:00.000000Z",
    })
    void omittedPartsOfATimeAreFilledIn(String text, String written) {
        OffsetDateTime timestamp = Timestamps.parseInput(text);
        assertThat(timestamp).isNotNull();
        assertThat(Timestamps.format(timestamp)).isEqualTo(written);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "now",
                "2025",
                "2025-09",
                "2025-09-03T",
                "2025-09-03T11",
                "2025-09-03T11:15:",
                "2025-09-03T11:15:19.",
                "2025-09-03Z",
                "2025-09-03T24:00",
                "2025-02-29",
                "0000-01-01",
                "2025-09-03T11:15+0200",
                "2025-09-03T11:15Z ",
                "2025-09-03  11:15",
                "10000-01-01"
            })
    void textThatIsNoTimeIsRefused(String text) {
        assertThat(Timestamps.parseInput(text)).isNull();
    }

    @Test
    void writtenTimestampsAreReadBack() {
        Random random = new Random(5);
        long first = Instant.parse("0001-01-01T00:00:00Z").getEpochSecond();
        long last = Instant.parse("9999-12-31T23:59:59Z").getEpochSecond();
        for (int i = 0; i < 20_000; i++) {
            long seconds = first + (long) (random.nextDouble() * (last - first));
            OffsetDateTime timestamp = Instant.ofEpochSecond(seconds, random.nextInt(1_000_000_000))
                    .truncatedTo(ChronoUnit.MICROS)
                    .atOffset(ZoneOffset.UTC);
            assertThat(Timestamps.parse(Timestamps.format(timestamp))).isEqualTo(timestamp);
            OffsetDateTime elsewhere = timestamp.withOffsetSameInstant(ZoneOffset.ofHours(5));
            assertThat(Timestamps.format(elsewhere)).isEqualTo(Timestamps.format(timestamp));
        }
    }

    @Test
    void aYearThatOnlySqlCanStoreIsWrittenAllTheSame() {
        assertThat(Timestamps.format(OffsetDateTime.of(12_345, 1, 1, 0, 0, 0, 0, ZoneOffset.UTC)))
                .startsWith("+12345-01-01T");
    }

    /** Other parsers refuse a leap second, or accept more than RFC 3339. */
    @Test
    void noOtherParserReadsATimeThatIsGiven() {
        noClasses()
                .should()
                .callMethod(OffsetDateTime.class, "parse", CharSequence.class)
                .check(OwnClasses.all());
    }
}
