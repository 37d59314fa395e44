package dev.annals.derived.search;

import dev.annals.core.query.Filter;
import dev.annals.core.query.Query;
import dev.annals.core.query.Query.Field;
import dev.annals.core.query.QueryParser;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The part of a filter that the index can answer: alternatives of keys. Every record that passes has all keys of one alternative. A
 * pattern's keys are those of the terms of the dictionary that match it. The records themselves decide about exclusions, patterns with too
 * many terms, and lists with too many alternatives.
 *
 * @param alternatives at least one; an empty one means that any record may pass
 */
record IndexKeys(List<Set<Key>> alternatives) {

    /** Each alternative is a search of its own. */
    private static final int MOST_ALTERNATIVES = 16;

    /** The terms of all patterns together: each is a search of its own. */
    private static final int MOST_TERMS = 64;

    private static final int FEWEST_TERMS = 4;
    /** Each reads a whole dictionary. */
    private static final int MOST_WITHIN = 4;

    private static final List<Set<Key>> ANYTHING = List.of(Set.of());

    static final IndexKeys NONE = new IndexKeys(ANYTHING);

    /** Fields, as {@code annals.search_key()} numbers them. */
    private static final int ACTION = 1;

    private static final int ACTOR = 2;
    private static final int SUBJECT = 3;
    private static final int OUTCOME = 4;
    private static final int IP = 5;
    private static final int WORD = 6;
    private static final int ANY_WORD = 7;
    private static final int RECORDED_BY = 8;
    private static final int ID = 9;
    private static final int NETWORK = 11;
    private static final int ACTOR_TYPE = 12;
    private static final int SUBJECT_TYPE = 13;

    private static final int V4_BITS = 32;
    private static final int V6_BITS = 128;
    private static final int WIDEST_V4 = 8;
    private static final int WIDEST_V6 = 32;

    /** The terms that a key stands for, with the number of {@code search_blocks.sql}. */
    private enum Kind {
        WHOLE(0),
        BEGINNING(1),
        WITHIN(2);

        private final int number;

        Kind(int number) {
            this.number = number;
        }
    }

    record Key(int field, Kind kind, String value) {

        Key(int field, String value) {
            this(field, Kind.WHOLE, value);
        }
    }

    static IndexKeys of(Filter filter) {
        Set<Key> always = new LinkedHashSet<>();
        add(always, ACTION, filter.action());
        add(always, ACTOR, filter.actor());
        add(always, ACTOR, filter.actorId());
        add(always, SUBJECT, filter.subject());
        add(always, SUBJECT, filter.subjectId());
        add(always, OUTCOME, filter.outcome());
        add(always, IP, filter.ipAddress());
        add(always, RECORDED_BY, filter.recordedBy());
        add(always, WORD, filter.q());
        List<Set<Key>> alternatives =
                filter.query() == null ? List.of(always) : product(List.of(always), alternatives(filter.query()));
        return new IndexKeys(withUnindexedWords(withFewWithin(alternatives)));
    }

    private static void add(Set<Key> keys, int field, @Nullable String value) {
        if (value != null) {
            keys.add(new Key(field, value));
        }
    }

    boolean isAnything() {
        return alternatives.stream().anyMatch(Set::isEmpty);
    }

    /** True if each alternative is one value or word: a record that has it then passes as a rule. */
    boolean areSingle() {
        return alternatives.stream()
                .allMatch(keys -> keys.size() == 1
                        && keys.stream()
                                .noneMatch(key -> key.kind() != Kind.WHOLE
                                        || key.field() == NETWORK
                                        || key.value().contains(" ")));
    }

    private static List<Set<Key>> withFewWithin(List<Set<Key>> alternatives) {
        List<Key> looked = alternatives.stream()
                .flatMap(Set::stream)
                .filter(key -> key.kind() == Kind.WITHIN)
                .distinct()
                .limit(MOST_WITHIN)
                .toList();
        return alternatives.stream()
                .map(keys -> keys.stream()
                        .filter(key -> key.kind() != Kind.WITHIN || looked.contains(key))
                        .collect(Collectors.toCollection(LinkedHashSet::new)))
                .map(keys -> (Set<Key>) keys)
                .toList();
    }

    /** A record with a long value has one key for any word. */
    private static List<Set<Key>> withUnindexedWords(List<Set<Key>> alternatives) {
        Set<Set<Key>> all = new LinkedHashSet<>(alternatives);
        for (Set<Key> alternative : alternatives) {
            Set<Key> unindexed = new LinkedHashSet<>(alternative);
            if (unindexed.removeIf(key -> key.field() == WORD)) {
                unindexed.add(new Key(ANY_WORD, ""));
                all.add(unindexed);
            }
        }
        return List.copyOf(all);
    }

    private static List<Set<Key>> alternatives(Query query) {
        if (query instanceof Query.All all) {
            List<Set<Key>> product = ANYTHING;
            for (List<Set<Key>> part : all.parts().stream()
                    .map(IndexKeys::alternatives)
                    .sorted(Comparator.comparingInt(List::size))
                    .toList()) {
                product = product(product, part);
            }
            return product;
        } else if (query instanceof Query.Any any) {
            Set<Set<Key>> union = new LinkedHashSet<>();
            any.parts().forEach(part -> union.addAll(alternatives(part)));
            return union.size() > MOST_ALTERNATIVES || union.contains(Set.<Key>of()) ? ANYTHING : List.copyOf(union);
        } else if (query instanceof Query.Words text) {
            return words(text.words(), text.prefix());
        } else if (query instanceof Query.Message message) {
            return words(message.words(), message.prefix());
        } else if (query instanceof Query.Name name) {
            return words(name.words(), name.prefix());
        } else if (query instanceof Query.Value value) {
            return value(value);
        } else if (query instanceof Query.Metadata metadata) {
            return metadata.isNumber() ? number(metadata.value()) : metadata(metadata.value(), metadata.prefix());
        } else if (query instanceof Query.Compared compared) {
            return names(compared.path());
        } else if (query instanceof Query.Within within) {
            return within(within.of());
        } else if (query instanceof Query.Network network) {
            return network(network.address(), network.bits());
        }
        return ANYTHING;
    }

    private static List<Set<Key>> value(Query.Value value) {
        int field = field(value.field());
        if (!value.prefix()) {
            return one(new Key(field, value.value()));
        } else if (field == ID || value.value().isEmpty()) {
            return ANYTHING;
        }
        return isInDictionary(field) ? one(new Key(field, Kind.BEGINNING, value.value())) : words(value.value(), true);
    }

    /** JSON in JSON has escapes, and the index has other words of control characters. */
    private static List<Set<Key>> metadata(String value, boolean prefix) {
        boolean isEscaped =
                value.startsWith("{") || value.startsWith("[") || value.chars().anyMatch(c -> c < ' ');
        return isEscaped ? ANYTHING : words(value, prefix);
    }

    /** Every text of a number has its integral part as a word, whatever zeros follow; a text may also have the exponent. */
    private static List<Set<Key>> number(String value) {
        String integral = new BigDecimal(value).toBigInteger().abs().toString();
        return QueryParser.Words.of(value).contains(integral)
                ? words(integral, false)
                : List.of(Set.of(new Key(WORD, integral)), words(value, false).get(0));
    }

    /** The words of names in the metadata. A number may be the place in a list. */
    private static List<Set<Key>> names(List<String> path) {
        Set<Key> keys = new LinkedHashSet<>();
        path.stream()
                .filter(name -> name.chars().anyMatch(c -> c < '0' || c > '9'))
                .forEach(name -> metadata(name, false).forEach(keys::addAll));
        return List.of(keys);
    }

    private static List<Set<Key>> within(Query query) {
        return query instanceof Query.Value value && isInDictionary(field(value.field()))
                ? one(new Key(field(value.field()), Kind.WITHIN, value.value()))
                : one(new Key(WORD, Kind.WITHIN, Query.Within.text(query)));
    }

    private static List<Set<Key>> network(String address, int bits) {
        boolean isV4 = address.indexOf(':') < 0;
        return bits == (isV4 ? V4_BITS : V6_BITS)
                ? one(new Key(IP, address))
                : bits < (isV4 ? WIDEST_V4 : WIDEST_V6) ? ANYTHING : one(new Key(NETWORK, address + "/" + bits));
    }

    private static List<Set<Key>> one(Key key) {
        return List.of(Set.of(key));
    }

    private static boolean isInDictionary(int field) {
        return field == ACTION || field == OUTCOME || field == ACTOR_TYPE || field == SUBJECT_TYPE;
    }

    private static List<Set<Key>> words(String value, boolean prefix) {
        List<String> words = QueryParser.Words.of(value);
        return words.isEmpty() ? ANYTHING : words(words, prefix && !QueryParser.Words.endsWithSeparator(value));
    }

    private static List<Set<Key>> words(List<String> words, boolean prefix) {
        Set<Key> keys = new LinkedHashSet<>();
        int whole = words.size() - (prefix ? 1 : 0);
        if (QueryParser.Words.areIndexed(words.subList(0, whole))) {
            keys.add(new Key(WORD, String.join(" ", words.subList(0, whole))));
        }
        if (prefix && !QueryParser.Words.haveDense(words)) {
            keys.add(new Key(WORD, Kind.BEGINNING, words.get(whole)));
        }
        return List.of(keys);
    }

    /** The first list alone if there are too many pairs. */
    private static List<Set<Key>> product(List<Set<Key>> first, List<Set<Key>> second) {
        if (first.size() * second.size() > MOST_ALTERNATIVES) {
            return first;
        }
        Set<Set<Key>> product = new LinkedHashSet<>();
        for (Set<Key> one : first) {
            for (Set<Key> other : second) {
                Set<Key> both = new LinkedHashSet<>(one);
                both.addAll(other);
                product.add(both);
            }
        }
        return List.copyOf(product);
    }

    private static int field(Field field) {
        return switch (field) {
            case ID -> ID;
            case ACTION -> ACTION;
            case ACTOR, ACTOR_ID, ACTOR_NAME -> ACTOR;
            case SUBJECT, SUBJECT_ID, SUBJECT_NAME -> SUBJECT;
            case OUTCOME -> OUTCOME;
            case IP -> IP;
            case RECORDED_BY -> RECORDED_BY;
            case ACTOR_TYPE -> ACTOR_TYPE;
            case SUBJECT_TYPE -> SUBJECT_TYPE;
        };
    }

    /** The most terms of a pattern that are looked up. */
    int mostTerms() {
        long patterns = alternatives.stream()
                .filter(keys -> keys.stream().anyMatch(key -> key.kind() != Kind.WHOLE))
                .count();
        return (int) Math.max(FEWEST_TERMS, MOST_TERMS / Math.max(1, patterns));
    }

    /** The number of the alternative of each key. */
    Integer[] numbers() {
        List<Integer> numbers = new ArrayList<>();
        for (int i = 0; i < alternatives.size(); i++) {
            for (int key = 0; key < alternatives.get(i).size(); key++) {
                numbers.add(i);
            }
        }
        return numbers.toArray(Integer[]::new);
    }

    /** Parallel to {@link #numbers}. */
    Integer[] fields() {
        return alternatives.stream().flatMap(Set::stream).map(Key::field).toArray(Integer[]::new);
    }

    /** Parallel to {@link #numbers}. */
    String[] values() {
        return alternatives.stream().flatMap(Set::stream).map(Key::value).toArray(String[]::new);
    }

    /** Parallel to {@link #numbers}. */
    Integer[] kinds() {
        return alternatives.stream()
                .flatMap(Set::stream)
                .map(key -> key.kind().number)
                .toArray(Integer[]::new);
    }
}
