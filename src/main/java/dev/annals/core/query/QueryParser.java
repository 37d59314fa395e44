package dev.annals.core.query;

import dev.annals.core.query.Query.Field;
import dev.annals.kernel.http.IpAddress;
import dev.annals.kernel.http.Timestamps;
import java.io.Serial;
import java.text.Normalizer;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads a {@link Query} by recursive descent. Any text without the syntax below is a list of words, with punctuation between
 * them.
 *
 * <pre>
 * query  = term { ["AND"] term } | term { "OR" term }
 * term   = ( "-" | "NOT" ) term | "(" query ")" | words | phrase | field ":" values
 * values = value { "," value } | "(" value { ( "OR" | "," ) value } ")"
 * value  = ( characters | phrase ) [ "*" ] | "*" characters "*"
 * </pre>
 */
public final class QueryParser {

    /** In UTF-16. */
    public static final int MAX_LENGTH = 1_024;

    /** Words, phrases and values. */
    public static final int MAX_TERMS = 128;

    /** Exclusions and parentheses. */
    public static final int MAX_DEPTH = 8;

    /** The time after now that {@code last:} includes: the clocks of writers differ. */
    public static final Duration AHEAD = Duration.ofMinutes(1);

    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_.]*");
    private static final Pattern METADATA = Pattern.compile("metadata\\.", Pattern.CASE_INSENSITIVE);
    private static final Pattern COMMA = Pattern.compile("[,;]+");
    private static final Pattern UUID = Pattern.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}");
    private static final Pattern OPERATOR = Pattern.compile("OR|AND|NOT");
    private static final Pattern LAST = Pattern.compile("([1-9][0-9]{0,4})([smhdw])");
    /** The beginning of an IPv4 address mapped to IPv6, as far as it is dotted. */
    private static final Pattern MAPPED = Pattern.compile("::[Ff]{4}:[0-9]+\\.[0-9.]*");

    /** A text between two stars; the parts of a token of several stars are words. */
    private static final Pattern WITHIN = Pattern.compile("\\*([^*]+)\\*");

    private static final Pattern STAR_IN_WORD = Pattern.compile("[\\p{L}\\p{N}]\\*|\\*[\\p{L}\\p{N}]");
    private static final Pattern COMPARISON = Pattern.compile("[<>]");
    private static final Pattern NUMBER = Pattern.compile("-?[0-9]{1,30}(\\.[0-9]{1,30})?");

    private static final int FEWEST_WITHIN = 3;

    private static final int LAST_YEAR = 9999;
    private static final OffsetDateTime LAST_MOMENT =
            OffsetDateTime.of(LAST_YEAR, 12, 31, 23, 59, 59, 999_999_000, ZoneOffset.UTC);

    private final String text;
    private final @Nullable OffsetDateTime now;
    private int at;
    private int terms;
    private int depth;

    private QueryParser(String text, @Nullable OffsetDateTime now) {
        this.text = text;
        this.now = now;
    }

    /**
     * Reads a query.
     *
     * @param now the end of {@code last:}, apart from {@link #AHEAD}; null if the query is stored, so that only fixed times are
     *     allowed
     * @throws QueryException if the text is no query, has neither a word nor a value, or exceeds {@link #MAX_LENGTH}, {@link
     *     #MAX_TERMS} or {@link #MAX_DEPTH}
     */
    public static Query parse(String text, @Nullable OffsetDateTime now) throws QueryException {
        return new QueryParser(text, now).parse();
    }

    private Query parse() throws QueryException {
        if (text.length() > MAX_LENGTH) {
            throw wrong(MAX_LENGTH, "it has more than " + MAX_LENGTH + " characters");
        }
        int nul = text.indexOf('\0');
        if (nul >= 0) {
            throw wrong(nul, "there is a NUL character");
        }
        Query query = group();
        if (at < text.length()) {
            throw wrong(at, "there is no parenthesis to close, expected another term or the end");
        }
        if (query == null) {
            throw wrong(text.length(), "there is nothing to search for, expected a letter or a digit");
        }
        return query;
    }

    /** Reads up to a closing parenthesis or the end; null if there is only punctuation. */
    private @Nullable Query group() throws QueryException {
        List<Query> parts = new ArrayList<>();
        boolean and = false;
        boolean or = false;
        int operatorAt = -1;
        String operator = "";
        for (skipSpace(); at < text.length() && text.charAt(at) != ')'; skipSpace()) {
            int start = at;
            String word = operator();
            if (word.equals("OR") || word.equals("AND")) {
                if (parts.isEmpty() || !operator.isEmpty()) {
                    throw wrong(start, "nothing stands before " + word + ", expected a term");
                }
                operator = word;
                operatorAt = start;
                at += word.length();
                continue;
            }
            Query part = term();
            if (part == null) {
                continue;
            }
            if (!parts.isEmpty()) {
                or |= operator.equals("OR");
                and |= !operator.equals("OR");
                if (and && or) {
                    throw wrong(
                            operatorAt >= 0 ? operatorAt : start,
                            "this can be read in two ways, expected parentheses around what OR stands between");
                }
            }
            parts.add(part);
            operator = "";
        }
        if (!operator.isEmpty()) {
            throw wrong(at, "nothing stands behind " + operator + ", expected a term");
        }
        return parts.isEmpty() ? null : or ? Query.any(parts) : Query.all(parts);
    }

    /** Null if there is only punctuation. */
    private @Nullable Query term() throws QueryException {
        int start = at;
        if (isExclusion()) {
            at++;
            return not(start);
        }
        if (operator().equals("NOT")) {
            at += "NOT".length();
            skipSpace();
            if (at == text.length() || text.charAt(at) == ')') {
                throw wrong(at, "nothing stands behind NOT, expected a term");
            }
            return not(start);
        }
        if (text.charAt(at) == '(') {
            enter(start);
            at++;
            Query query = group();
            close(start);
            depth--;
            return query;
        }
        if (text.charAt(at) == '"') {
            return phrase(start, quoted(), takeStar());
        }
        Query field = field();
        return field == null ? words() : field;
    }

    private @Nullable Query not(int start) throws QueryException {
        enter(start);
        String operator = operator();
        if (operator.equals("OR") || operator.equals("AND")) {
            throw wrong(at, "there is nothing to exclude, expected a term; or quotes around " + operator);
        }
        Query part = term();
        depth--;
        return part == null ? null : new Query.Not(part);
    }

    private void enter(int start) throws QueryException {
        if (++depth > MAX_DEPTH) {
            throw wrong(start, "more than " + MAX_DEPTH + " exclusions and parentheses stand in one another");
        }
    }

    private void close(int opened) throws QueryException {
        if (at == text.length()) {
            throw wrong(opened, "this parenthesis is not closed, expected ) before the end");
        }
        at++;
    }

    /** A hyphen before a term excludes it. One by itself, or two, are punctuation. */
    private boolean isExclusion() {
        return text.charAt(at) == '-'
                && at + 1 < text.length()
                && !Words.isSpace(text.charAt(at + 1))
                && text.charAt(at + 1) != '-'
                && text.charAt(at + 1) != ')';
    }

    /** Empty if no operator, a word of its own in upper case, begins here. */
    private String operator() {
        Matcher operator = OPERATOR.matcher(text).region(at, text.length());
        if (!operator.lookingAt()) {
            return "";
        }
        int end = operator.end();
        boolean alone =
                end == text.length() || Words.isSpace(text.charAt(end)) || "()\"".indexOf(text.charAt(end)) >= 0;
        return alone ? operator.group() : "";
    }

    /** Reads up to white space or a parenthesis: phrases with commas between them. */
    private @Nullable Query words() throws QueryException {
        int start = at;
        while (at < text.length() && !Words.isSpace(text.charAt(at)) && "()".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        List<Query> parts = new ArrayList<>();
        for (String token : COMMA.split(text.substring(start, at), -1)) {
            Matcher within = WITHIN.matcher(token);
            if (within.matches() && !Words.of(token).isEmpty()) {
                count(start);
                parts.add(within(start, new Query.Words(someWords(start, within.group(1)), false), within.group(1)));
                continue;
            }
            boolean prefix = token.length() > 1
                    && token.endsWith("*")
                    && !Words.endsWithSeparator(token.substring(0, token.length() - 1));
            if (STAR_IN_WORD
                    .matcher(prefix ? token.substring(0, token.length() - 1) : token)
                    .find()) {
                throw wrong(
                        start,
                        "a * stands for the rest of a word, expected it at the end, or one at each end; or quotes around text that has one");
            }
            Query phrase = phrase(start, token, prefix);
            if (phrase != null) {
                parts.add(phrase);
            }
        }
        return parts.isEmpty() ? null : Query.all(parts);
    }

    private Query within(int start, Query of, String text) throws QueryException {
        boolean isValue = of instanceof Query.Value value && value.field().hasFewValues();
        boolean isWord = of instanceof Query.Words
                || of instanceof Query.Message
                || of instanceof Query.Name
                || of instanceof Query.Metadata
                || (of instanceof Query.Value value && value.field().isId());
        if (!isValue && !isWord) {
            throw wrong(start, "this field has no text within its values, expected a value or its beginning");
        }
        if (isWord && !isValue && !Words.of(text).equals(List.of(text))) {
            throw wrong(start, "a text between two * is a part of one word, expected one without punctuation");
        }
        boolean isText = of instanceof Query.Words || of instanceof Query.Message || of instanceof Query.Name;
        if (!isValue && Words.haveDense(List.of(text))) {
            if (isText) {
                return of;
            }
            throw wrong(start, "Chinese, Japanese and Korean are found within words, expected a word without a field");
        }
        if (text.codePointCount(0, text.length()) < FEWEST_WITHIN) {
            throw wrong(start, "a text between two * is too short, expected " + FEWEST_WITHIN + " letters or more");
        }
        return new Query.Within(of);
    }

    private @Nullable Query phrase(int start, String phrase, boolean prefix) throws QueryException {
        List<String> words = Words.of(phrase);
        if (words.isEmpty()) {
            return null;
        }
        count(start);
        Query text = new Query.Words(words, prefix);
        return UUID.matcher(phrase).matches()
                ? Query.any(List.of(new Query.Value(Field.ID, phrase.toLowerCase(Locale.ROOT), false), text))
                : text;
    }

    /** Null if no field is named here. */
    private @Nullable Query field() throws QueryException {
        int start = at;
        if (METADATA.matcher(text).region(at, text.length()).lookingAt()) {
            return metadata();
        }
        Matcher named = NAME.matcher(text).region(at, text.length());
        if (!named.lookingAt() || named.end() == text.length() || text.charAt(named.end()) != ':') {
            return null;
        }
        String name = named.group().toLowerCase(Locale.ROOT);
        Values values;
        switch (name) {
            case "message" ->
                values = (from, value, prefix, quoted) -> new Query.Message(someWords(from, value), prefix);
            case "occurred_at", "timestamp" ->
                values = (from, value, prefix, quoted) -> time(false, from, value, prefix);
            case "recorded_at" -> values = (from, value, prefix, quoted) -> time(true, from, value, prefix);
            case "last" -> values = this::last;
            default -> {
                Field field = Field.named(name).orElse(null);
                if (field == null) {
                    char next = named.end() + 1 < text.length() ? text.charAt(named.end() + 1) : ' ';
                    boolean isHost =
                            name.indexOf('.') >= 0 && !name.startsWith("actor.") && !name.startsWith("subject.");
                    if (isHost || Words.isSpace(next) || ":/\\)".indexOf(next) >= 0) {
                        return null;
                    }
                    throw wrong(
                            start,
                            "there is no field \"" + named.group() + "\", expected one of " + Field.names()
                                    + "; or quotes around words with a colon");
                }
                values = field == Field.IP
                        ? this::address
                        : (from, value, prefix, quoted) -> field.isName() && !quoted && !value.isEmpty()
                                ? new Query.Name(field, someWords(from, value), prefix)
                                : new Query.Value(field, value, prefix);
            }
        }
        at = named.end() + 1;
        return values(values);
    }

    private List<String> someWords(int from, String text) throws QueryException {
        List<String> words = Words.of(text);
        if (words.isEmpty()) {
            throw wrong(from, "there is no word, expected a letter or a digit");
        }
        return words;
    }

    /** Null if no colon follows: then the text is words. */
    private @Nullable Query metadata() throws QueryException {
        int start = at;
        at += "metadata.".length();
        List<String> path = new ArrayList<>();
        while (true) {
            int from = at;
            String name;
            if (at < text.length() && text.charAt(at) == '"') {
                name = quoted();
            } else {
                while (at < text.length() && isInName(text.charAt(at))) {
                    at++;
                }
                name = text.substring(from, at);
            }
            char next = at < text.length() ? text.charAt(at) : ' ';
            if (from == at || (next != '.' && next != ':')) {
                at = start;
                return null;
            }
            path.add(name);
            at++;
            if (next == ':') {
                return values((first, value, prefix, quoted) ->
                        COMPARISON.matcher(value).lookingAt() && !quoted
                                ? compared(path, first, value, prefix)
                                : new Query.Metadata(path, value, prefix));
            }
        }
    }

    /** A date, a minute or a second is all of it: after a day is from the next one on. */
    private Query compared(List<String> path, int from, String value, boolean prefix) throws QueryException {
        String operator = value.substring(0, value.startsWith("=", 1) ? 2 : 1);
        String limit = value.substring(operator.length());
        if (NUMBER.matcher(limit).matches() && !prefix) {
            return new Query.Compared(path, operator, limit, false);
        }
        OffsetDateTime start = prefix ? null : Timestamps.parseInput(limit);
        if (start == null) {
            throw wrong(
                    from,
                    "this compares with no number and no time, expected one such as " + operator + "400 or " + operator
                            + "2026-01-31; or quotes around all of it");
        }
        if (operator.equals("<") || operator.equals(">=")) {
            return new Query.Compared(path, operator, Timestamps.format(start), true);
        }
        OffsetDateTime end = end(start, limit);
        String ofPeriod = end == null ? operator : operator.equals(">") ? ">=" : "<";
        return new Query.Compared(path, ofPeriod, Timestamps.format(end == null ? LAST_MOMENT : end), true);
    }

    private static boolean isInName(char c) {
        return !Words.isSpace(c) && ":.\"(),".indexOf(c) < 0;
    }

    private interface Values {
        Query read(int from, String value, boolean prefix, boolean quoted) throws QueryException;
    }

    private Query values(Values values) throws QueryException {
        List<Query> any = new ArrayList<>();
        if (at == text.length() || text.charAt(at) != '(') {
            any.add(value(values));
            while (at < text.length() && text.charAt(at) == ',') {
                at++;
                any.add(value(values));
            }
            if (at < text.length() && !Words.isSpace(text.charAt(at)) && text.charAt(at) != ')') {
                throw wrong(
                        at,
                        "the value ends before this, expected a comma, white space or the end; or quotes around all of it");
            }
            return Query.any(any);
        }
        int opened = at;
        at++;
        skipSpace();
        any.add(value(values));
        for (skipSpace(); at < text.length() && text.charAt(at) != ')'; skipSpace()) {
            if (text.charAt(at) == ',') {
                at++;
            } else if (operator().equals("OR")) {
                at += "OR".length();
            } else {
                throw wrong(at, "this is a list of values, expected OR, a comma or )");
            }
            skipSpace();
            any.add(value(values));
        }
        close(opened);
        return Query.any(any);
    }

    private Query value(Values values) throws QueryException {
        int start = at;
        String value;
        boolean prefix;
        boolean isWithin = false;
        boolean quoted = at < text.length() && text.charAt(at) == '"';
        if (quoted) {
            value = quoted();
            prefix = takeStar();
        } else {
            while (at < text.length() && !Words.isSpace(text.charAt(at)) && "(),\"".indexOf(text.charAt(at)) < 0) {
                at++;
            }
            value = text.substring(start, at);
            isWithin = WITHIN.matcher(value).matches();
            value = isWithin ? value.substring(1, value.length() - 1) : value;
            prefix = value.endsWith("*");
            int star = value.indexOf('*');
            if (star >= 0 && star < value.length() - 1) {
                throw wrong(
                        start + star,
                        "a * stands for the rest of a value, expected it at the end, or one at each end; or quotes around a value that has one");
            }
            value = prefix ? value.substring(0, value.length() - 1) : value;
        }
        if (value.isEmpty() && !prefix) {
            throw wrong(start, "there is no value, expected one");
        }
        count(start);
        Query read = values.read(start, value, prefix, quoted);
        return isWithin ? within(start, read, value) : read;
    }

    private Query address(int from, String value, boolean prefix, boolean quoted) throws QueryException {
        int slash = value.indexOf('/');
        if (prefix && slash < 0) {
            boolean isMapped = MAPPED.matcher(value).matches();
            return new Query.Value(Field.IP, isMapped ? value.substring(value.lastIndexOf(':') + 1) : value, true);
        }
        String text = slash < 0 ? value : value.substring(0, slash);
        String address = IpAddress.canonical(text);
        if (address == null || prefix) {
            throw wrong(from, "this is no IP address, expected one, or a network such as 10.0.0.0/8");
        }
        if (slash < 0) {
            return new Query.Value(Field.IP, address, false);
        }
        int bits = IpAddress.prefixBits(text, value.substring(slash + 1));
        if (bits < 0) {
            boolean isV4 = address.indexOf(':') < 0;
            String range = text.indexOf(':') < 0 ? "0 to 32" : isV4 ? "96 to 128" : "0 to 128";
            throw wrong(from + slash + 1, "this is no length of a prefix, expected a number from " + range);
        }
        return new Query.Network(address, bits);
    }

    private Query time(boolean recorded, int from, String value, boolean prefix) throws QueryException {
        int dots = value.indexOf("..");
        if (prefix) {
            throw noTime(from);
        }
        if (dots < 0) {
            OffsetDateTime start = moment(from, value);
            return new Query.Time(recorded, start, end(start, value));
        }
        String first = value.substring(0, dots);
        String last = value.substring(dots + 2);
        if (first.isEmpty() && last.isEmpty()) {
            throw noTime(from);
        }
        OffsetDateTime start = first.isEmpty() ? null : moment(from, first);
        OffsetDateTime end = last.isEmpty() ? null : moment(from + dots + 2, last);
        if (start != null && end != null && end.isBefore(start)) {
            throw wrong(from + dots + 2, "this time is before the one at which the range starts, expected a later one");
        }
        return new Query.Time(recorded, start, end);
    }

    private OffsetDateTime moment(int from, String value) throws QueryException {
        OffsetDateTime time = Timestamps.parseInput(value);
        if (time == null) {
            throw noTime(from);
        }
        return time;
    }

    /** The end of the day, minute or second that a time names; null if it is the last one. */
    private static @Nullable OffsetDateTime end(OffsetDateTime start, String value) {
        int point = value.indexOf('.');
        long colons = value.substring(0, Math.min(value.length(), "2026-01-01T00:00:00".length()))
                .chars()
                .filter(c -> c == ':')
                .count();
        ChronoUnit unit = point >= 0
                ? ChronoUnit.MICROS
                : value.length() == "2026-01-01".length()
                        ? ChronoUnit.DAYS
                        : colons == 2 && value.charAt("2026-01-01T00:00".length()) == ':'
                                ? ChronoUnit.SECONDS
                                : ChronoUnit.MINUTES;
        OffsetDateTime end = start.plus(1, unit);
        return end.getYear() > LAST_YEAR ? null : end;
    }

    private QueryException noTime(int from) {
        return wrong(
                from,
                "this is no time, expected one such as 2026-01-31 or 2026-01-31T09:30:00Z, or a range of two with .. between them");
    }

    private Query last(int from, String value, boolean prefix, boolean quoted) throws QueryException {
        Matcher length = LAST.matcher(value);
        if (prefix || !length.matches()) {
            throw wrong(from, "this is no length of time, expected a number with s, m, h, d or w, such as 24h");
        }
        if (now == null) {
            throw wrong(from, "this would move on with the clock, expected occurred_at: and a fixed time");
        }
        long count = Long.parseLong(length.group(1));
        Duration duration = switch (length.group(2)) {
            case "s" -> Duration.ofSeconds(count);
            case "m" -> Duration.ofMinutes(count);
            case "h" -> Duration.ofHours(count);
            case "d" -> Duration.ofDays(count);
            default -> Duration.ofDays(7 * count);
        };
        return new Query.Time(false, now.minus(duration), now.plus(AHEAD));
    }

    /** A backslash escapes a quote or a backslash. */
    private String quoted() throws QueryException {
        int opened = at;
        StringBuilder content = new StringBuilder();
        for (at++; at < text.length(); at++) {
            char c = text.charAt(at);
            if (c == '"') {
                at++;
                return content.toString();
            }
            boolean escaped = c == '\\' && at + 1 < text.length() && "\\\"".indexOf(text.charAt(at + 1)) >= 0;
            content.append(escaped ? text.charAt(++at) : c);
        }
        throw wrong(opened, "this quote is not closed, expected another one before the end");
    }

    private boolean takeStar() {
        boolean star = at < text.length() && text.charAt(at) == '*';
        at += star ? 1 : 0;
        return star;
    }

    private void count(int start) throws QueryException {
        if (++terms > MAX_TERMS) {
            throw wrong(start, "there are more than " + MAX_TERMS + " words and values");
        }
    }

    private void skipSpace() {
        while (at < text.length() && Words.isSpace(text.charAt(at))) {
            at++;
        }
    }

    private QueryException wrong(int where, String message) {
        int position = text.codePointCount(0, Math.min(where, text.length())) + 1;
        return new QueryException(position, "character " + position + ": " + message);
    }

    /** The message says where and why a text is no query. */
    public static final class QueryException extends Exception {

        @Serial
        private static final long serialVersionUID = 1;

        private final int position;

        QueryException(int position, String message) {
            super(message, null, false, false);
            this.position = position;
        }

        /**
         * From 1, in Unicode characters, some of which are two of Java's. One more than the length of the text if something
         * is missing at its end.
         */
        public int position() {
            return position;
        }
    }

    /**
     * Divides text into words like {@code annals.words()} of the schema, which also folds them, so characters that fold to
     * punctuation separate words.
     */
    public static final class Words {

        private static final String SPACES =
                "\\t-\\r \\x{85}\\x{a0}\\x{2000}-\\x{200a}\\x{2028}-\\x{202f}\\x{205f}\\x{3000}";

        /** Compatibility characters, such as those of full width. */
        private static final String FOLDED =
                "\\x{37e}\\x{1fef}\\x{203c}\\x{2047}-\\x{2049}\\x{207a}\\x{207c}-\\x{207e}\\x{208a}\\x{208c}-\\x{208e}\\x{2a74}-\\x{2a76}"
                        + "\\x{fb29}\\x{fe10}-\\x{fe16}\\x{fe19}\\x{fe30}-\\x{fe38}\\x{fe41}-\\x{fe44}\\x{fe47}-\\x{fe48}\\x{fe4d}-\\x{fe52}\\x{fe54}-\\x{fe5c}"
                        + "\\x{fe5f}-\\x{fe66}\\x{fe68}-\\x{fe6b}\\x{ff01}-\\x{ff0f}\\x{ff1a}-\\x{ff20}\\x{ff3b}-\\x{ff40}\\x{ff5b}-\\x{ff5e}\\x{ff61}-\\x{ff64}";

        private static final Pattern SPACE = Pattern.compile("[" + SPACES + "]");

        private static final Pattern BETWEEN = Pattern.compile(
                "[" + SPACES + "!\"#$%&'()*+,./:;<=>?@\\[\\\\\\]^_`{|}~\\x{a1}\\x{ab}\\x{bb}\\x{bf}\\x{2010}-\\x{2027}"
                        + "\\x{2039}\\x{203a}\\x{2e3a}\\x{2e3b}\\x{3001}\\x{3002}\\x{300c}-\\x{300f}"
                        + FOLDED + "-]+");

        /** Accents without a letter, which {@code annals.words()} removes. */
        private static final Pattern ACCENTS = Pattern.compile("[ \\x{300}-\\x{36f}]+");

        private static final String DENSE_CHARACTER =
                "[\\x{3040}-\\x{30ff}\\x{3400}-\\x{4dbf}\\x{4e00}-\\x{9fff}\\x{ac00}-\\x{d7a3}\\x{f900}-\\x{faff}\\x{20000}-\\x{3ffff}]";
        private static final Pattern DENSE = Pattern.compile(DENSE_CHARACTER);
        private static final Pattern PAIR = Pattern.compile(DENSE_CHARACTER + "{2}");

        private Words() {}

        public static List<String> of(String text) {
            return Arrays.stream(BETWEEN.split(text, -1))
                    .filter(word -> !word.isEmpty()
                            && !ACCENTS.matcher(Normalizer.normalize(word, Normalizer.Form.NFKD))
                                    .matches())
                    .toList();
        }

        /** Whether the last word of a text is complete. */
        public static boolean endsWithSeparator(String text) {
            return text.isEmpty()
                    || BETWEEN.matcher(text.substring(text.length() - 1)).matches();
        }

        /** Whether a word has Chinese, Japanese or Korean characters, which are looked for within words. */
        public static boolean haveDense(List<String> words) {
            return words.stream()
                    .anyMatch(word -> DENSE.matcher(normalized(word)).find());
        }

        /** Whether the index has a key of these words, by {@code annals.indexed_words()}: a whole word, or a pair of dense characters. */
        public static boolean areIndexed(List<String> words) {
            return words.stream()
                    .map(Words::normalized)
                    .anyMatch(word ->
                            !DENSE.matcher(word).find() || PAIR.matcher(word).find());
        }

        private static String normalized(String word) {
            return Normalizer.normalize(word, Normalizer.Form.NFKC);
        }

        static boolean isSpace(char c) {
            return SPACE.matcher(String.valueOf(c)).matches();
        }
    }
}
