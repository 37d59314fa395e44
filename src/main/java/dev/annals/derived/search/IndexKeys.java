package dev.annals.derived.search;

import dev.annals.core.query.Filter;
import dev.annals.core.query.Query;
import dev.annals.core.query.Query.Field;
import dev.annals.core.query.QueryParser;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The part of a filter that the index can answer: alternatives of keys. Every record that passes has all keys of one alternative. The
 * records themselves decide about exclusions, networks, the last word of prefixes, and lists with too many alternatives.
 *
 * @param alternatives at least one; an empty one means that any record may pass
 */
record IndexKeys(List<Set<Key>> alternatives) {

    /** Each alternative is a search of its own. */
    private static final int MOST_ALTERNATIVES = 16;

    private static final List<Set<Key>> ANYTHING = List.of(Set.of());

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

    record Key(int field, String value) {}

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
        return new IndexKeys(withUnindexedWords(alternatives));
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
                        && keys.stream().noneMatch(key -> key.value().contains(" ")));
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
            Integer field = value.prefix() ? null : field(value.field());
            return field == null
                    ? words(value.value(), value.prefix())
                    : List.of(Set.of(new Key(field, value.value())));
        } else if (query instanceof Query.Metadata metadata) {
            // JSON in JSON has escapes that the words of the metadata lack.
            return metadata.value().startsWith("{") || metadata.value().startsWith("[")
                    ? ANYTHING
                    : words(metadata.value(), metadata.prefix());
        }
        return ANYTHING;
    }

    private static List<Set<Key>> words(String value, boolean prefix) {
        List<String> words = QueryParser.Words.of(value);
        return words.isEmpty() ? ANYTHING : words(words, prefix && !QueryParser.Words.endsWithSeparator(value));
    }

    private static List<Set<Key>> words(List<String> words, boolean prefix) {
        List<String> whole = prefix ? words.subList(0, words.size() - 1) : words;
        return QueryParser.Words.areIndexed(whole) ? List.of(Set.of(new Key(WORD, String.join(" ", whole)))) : ANYTHING;
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

    /** @return null if the index does not have the field */
    private static @Nullable Integer field(Field field) {
        return switch (field) {
            case ID -> ID;
            case ACTION -> ACTION;
            case ACTOR, ACTOR_ID, ACTOR_NAME -> ACTOR;
            case SUBJECT, SUBJECT_ID, SUBJECT_NAME -> SUBJECT;
            case OUTCOME -> OUTCOME;
            case IP -> IP;
            case RECORDED_BY -> RECORDED_BY;
            case ACTOR_TYPE, SUBJECT_TYPE -> null;
        };
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
}
