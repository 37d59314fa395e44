package dev.annals.kernel.http;

import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.YearMonth;
import java.time.ZoneOffset;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Timestamps of RFC 3339, in the years and to the precision of PostgreSQL. */
public final class Timestamps {

    private static final int SHORTEST = "0001-01-01T00:00:00Z".length();
    private static final long FIRST_SECOND = LocalDateTime.of(1, 1, 1, 0, 0).toEpochSecond(ZoneOffset.UTC);
    private static final long LAST_SECOND =
            LocalDateTime.of(9999, 12, 31, 23, 59, 59).toEpochSecond(ZoneOffset.UTC);
    private static final int MAX_FRACTION_DIGITS = 9;

    private static final Pattern INPUT = Pattern.compile(
            "([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[Tt ]([0-9]{2}:[0-9]{2})(:[0-9]{2}(?:\\.[0-9]{1,9})?)?([Zz]|[+ -][0-9]{2}:[0-9]{2})?)?");

    private Timestamps() {}

    /**
     * Also accepts what people and tools write: a space in place of {@code T} (RFC 3339, section 5.6); a UTC time without
     * seconds or offset, as HTML's {@code datetime-local}; a date, as its midnight in UTC; and a space in place of {@code +},
     * as URLs often lack the escape.
     *
     * @return as {@link #parse}
     */
    public static @Nullable OffsetDateTime parseInput(String text) {
        Matcher parts = INPUT.matcher(text);
        if (!parts.matches()) {
            return null;
        }
        String time = Objects.requireNonNullElse(parts.group(2), "00:00");
        String seconds = Objects.requireNonNullElse(parts.group(3), ":00");
        String offset = Objects.requireNonNullElse(parts.group(4), "Z").replace(' ', '+');
        return parse(parts.group(1) + "T" + time + seconds + offset);
    }

    /**
     * Reads {@code YYYY-MM-DDThh:mm:ss[.fraction](Z|±hh:mm)}. Drops digits beyond microseconds. A leap second becomes the next
     * second, as in PostgreSQL.
     *
     * @return in UTC; null if the text is anything else, or outside the years 0001 to 9999
     */
    public static @Nullable OffsetDateTime parse(String text) {
        if (text.length() < SHORTEST || !hasShape(text)) {
            return null;
        }
        int year = number(text, 0, 4);
        int month = number(text, 5, 7);
        int day = number(text, 8, 10);
        int hour = number(text, 11, 13);
        int minute = number(text, 14, 16);
        int second = number(text, 17, 19);
        int zone = 19;
        if (text.charAt(zone) == '.') {
            zone++;
            while (zone < text.length() && isDigit(text.charAt(zone))) {
                zone++;
            }
        }
        int fractionDigits = Math.max(0, zone - 20);
        int offset = offsetSeconds(text, zone);
        if (year < 0 || !isDay(year, month, day) || !within(hour, 23) || !within(minute, 59) || !within(second, 60)) {
            return null;
        }
        if (offset == Integer.MIN_VALUE || zone == 20 || fractionDigits > MAX_FRACTION_DIGITS) {
            return null;
        }
        long seconds =
                LocalDate.of(year, month, day).toEpochDay() * 86_400 + hour * 3_600L + minute * 60L + second - offset;
        if (seconds < FIRST_SECOND || seconds > LAST_SECOND || (second == 60 && !beginsHalfYear(seconds))) {
            return null;
        }
        return LocalDateTime.ofEpochSecond(seconds, micros(text, fractionDigits) * 1_000, ZoneOffset.UTC)
                .atOffset(ZoneOffset.UTC);
    }

    /**
     * Writes {@code YYYY-MM-DDThh:mm:ss.ffffffZ}, always 27 characters. A year outside 0000 to 9999, which only plain SQL can
     * store, has a sign, as in ISO 8601.
     */
    public static String format(OffsetDateTime timestamp) {
        OffsetDateTime utc = timestamp.getOffset().equals(ZoneOffset.UTC)
                ? timestamp
                : timestamp.withOffsetSameInstant(ZoneOffset.UTC);
        if (utc.getYear() < 0 || utc.getYear() > 9999) {
            return utc.toString();
        }
        byte[] text = new byte[27];
        digits(text, 0, 4, utc.getYear());
        text[4] = '-';
        digits(text, 5, 2, utc.getMonthValue());
        text[7] = '-';
        digits(text, 8, 2, utc.getDayOfMonth());
        text[10] = 'T';
        digits(text, 11, 2, utc.getHour());
        text[13] = ':';
        digits(text, 14, 2, utc.getMinute());
        text[16] = ':';
        digits(text, 17, 2, utc.getSecond());
        text[19] = '.';
        digits(text, 20, 6, utc.getNano() / 1_000);
        text[26] = 'Z';
        return new String(text, StandardCharsets.ISO_8859_1);
    }

    private static void digits(byte[] text, int at, int count, int value) {
        int rest = value;
        for (int i = at + count - 1; i >= at; i--) {
            text[i] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
    }

    private static boolean hasShape(String text) {
        return text.charAt(4) == '-'
                && text.charAt(7) == '-'
                && (text.charAt(10) == 'T' || text.charAt(10) == 't')
                && text.charAt(13) == ':'
                && text.charAt(16) == ':';
    }

    private static boolean isDay(int year, int month, int day) {
        return month >= 1
                && month <= 12
                && day >= 1
                && (day <= 28 || day <= YearMonth.of(year, month).lengthOfMonth());
    }

    private static boolean beginsHalfYear(long seconds) {
        LocalDateTime time = LocalDateTime.ofEpochSecond(seconds, 0, ZoneOffset.UTC);
        return time.getDayOfMonth() == 1
                && time.getMonthValue() % 6 == 1
                && time.toLocalTime().equals(LocalTime.MIDNIGHT);
    }

    private static boolean within(int value, int highest) {
        return value >= 0 && value <= highest;
    }

    /** {@link Integer#MIN_VALUE} unless exactly one offset ends the text. */
    private static int offsetSeconds(String text, int at) {
        if (at >= text.length()) {
            return Integer.MIN_VALUE;
        }
        char sign = text.charAt(at);
        if (sign == 'Z' || sign == 'z') {
            return at + 1 == text.length() ? 0 : Integer.MIN_VALUE;
        }
        if ((sign != '+' && sign != '-') || at + 6 != text.length() || text.charAt(at + 3) != ':') {
            return Integer.MIN_VALUE;
        }
        int hours = number(text, at + 1, at + 3);
        int minutes = number(text, at + 4, at + 6);
        if (!within(hours, 23) || !within(minutes, 59)) {
            return Integer.MIN_VALUE;
        }
        int seconds = hours * 3_600 + minutes * 60;
        return sign == '-' ? -seconds : seconds;
    }

    private static int micros(String text, int fractionDigits) {
        int micros = 0;
        for (int i = 0; i < 6; i++) {
            micros = micros * 10 + (i < fractionDigits ? text.charAt(20 + i) - '0' : 0);
        }
        return micros;
    }

    /** -1 if a character is no digit. */
    private static int number(String text, int from, int to) {
        int number = 0;
        for (int i = from; i < to; i++) {
            if (!isDigit(text.charAt(i))) {
                return -1;
            }
            number = number * 10 + text.charAt(i) - '0';
        }
        return number;
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }
}
