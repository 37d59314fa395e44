package dev.annals.derived.search;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.SqlFixture;
import dev.annals.core.query.Query;
import dev.annals.core.query.Query.Field;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.StoredRecord;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.text.Normalizer;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Random queries and records, and a matcher that needs no database. */
public final class RandomQueries {

    private static final ObjectMapper JSON = new ObjectMapper();
    /** The earliest timestamp of {@link #append}. */
    public static final OffsetDateTime FIRST_HOUR = OffsetDateTime.parse("2026-01-01T00:00:00Z");

    private static final List<String> ACTIONS =
            List.of("Volume_Create", "volume_delete", "door_open", "it's \"so\" (x), y:z*", "a\\b%_$1 :terms");
    private static final List<String> PEOPLE = List.of("jane@example.org", "Jane", "Ümit", "u-1", "O'Hara; --", "%");
    private static final List<String> TYPES = List.of("user", "Service");
    /** The outcomes of the records. */
    public static final List<String> OUTCOMES = List.of("success", "DENIED", "failure");

    private static final List<String> ADDRESSES =
            List.of("10.0.0.7", "10.1.2.3", "192.168.0.9", "2001:db8::7", "2001:db8:1::1", "::1");
    private static final List<String> NETWORKS = List.of(
            "10.0.0.0/8",
            "10.0.0.7/32",
            "10.255.1.1/9",
            "192.168.0.8/29",
            "0.0.0.0/0",
            "2001:db8::/32",
            "::/0",
            "::1/127");
    private static final List<String> WORDS = List.of(
            "disk", "Disk", "full", "volume", "Ümit", "7", "example", "voluminous", "x", "4F3a9b21", "volume2024");
    private static final List<String> SEPARATORS = List.of(" ", "-", ", ", "  (", ") ", "_", "'", "\u3000");
    private static final List<Field> NAMES = List.of(Field.ACTOR, Field.ACTOR_NAME, Field.SUBJECT, Field.SUBJECT_NAME);
    private static final List<String> PLAIN = List.of("red", "Red", "reddish", "1.50", "true", "x'y\"z\\");

    private RandomQueries() {}

    /** A query of any kind, of this depth. */
    public static Query random(Random random, int depth) {
        int kind = depth == 0 ? 9 : random.nextInt(10);
        if (kind < 4) {
            List<Query> parts = new ArrayList<>();
            for (int part = random.nextInt(2, 4); part > 0; part--) {
                parts.add(random(random, depth - 1));
            }
            return kind < 2 ? Query.all(parts) : Query.any(parts);
        }
        return kind < 6 ? new Query.Not(random(random, depth - 1)) : part(random);
    }

    private static Query part(Random random) {
        return switch (random.nextInt(9)) {
            case 8 -> within(random);
            case 0, 1 -> {
                List<String> words = new ArrayList<>();
                for (int word = random.nextInt(1, 3); word > 0; word--) {
                    words.add(inAnyCase(of(WORDS, random), random));
                }
                boolean prefix = random.nextInt(4) == 0;
                String last = words.get(words.size() - 1);
                words.set(words.size() - 1, prefix ? last.substring(0, random.nextInt(last.length()) + 1) : last);
                yield switch (random.nextInt(3)) {
                    case 0 -> new Query.Message(words, prefix);
                    case 1 -> new Query.Name(of(NAMES, random), words, prefix);
                    default -> new Query.Words(words, prefix);
                };
            }
            case 2 -> {
                List<String> path = of(
                        List.of(
                                List.of("color"),
                                List.of("a", "b.c"),
                                List.of("list"),
                                List.of("list", "1"),
                                List.of("no")),
                        random);
                yield new Query.Metadata(path, inAnyCase(of(PLAIN, random), random), random.nextInt(3) == 0);
            }
            case 3 -> {
                String[] network = of(NETWORKS, random).split("/", 2);
                yield new Query.Network(network[0], Integer.parseInt(network[1]));
            }
            case 4 -> time(random);
            default -> {
                Field field = of(List.of(Field.values()), random);
                String value = of(values(field), random);
                boolean prefix = random.nextInt(3) == 0;
                // the parser writes addresses in their canonical form
                String written = field == Field.IP ? value : inAnyCase(value, random);
                yield new Query.Value(
                        field, prefix ? written.substring(0, random.nextInt(written.length() + 1)) : written, prefix);
            }
        };
    }

    private static Query within(Random random) {
        String word = of(List.of("disk", "volume", "voluminous", "example", "Ümit", "volume2024", "success"), random);
        int from = random.nextInt(word.length() - 2);
        String part = inAnyCase(word.substring(from, random.nextInt(from + 3, word.length() + 1)), random);
        return new Query.Within(
                switch (random.nextInt(5)) {
                    case 0 -> new Query.Message(List.of(part), false);
                    case 1 -> new Query.Name(of(NAMES, random), List.of(part), false);
                    case 2 -> new Query.Metadata(of(List.of(List.of("color"), List.of("list")), random), part, false);
                    case 3 ->
                        new Query.Value(of(List.of(Field.ACTION, Field.OUTCOME, Field.ACTOR_ID), random), part, false);
                    default -> new Query.Words(List.of(part), false);
                });
    }

    private static boolean isWithin(Query of, StoredRecord stored) {
        String part = Query.Within.text(of).toLowerCase(Locale.ROOT);
        if (of instanceof Query.Value value && value.field() != Field.ACTOR_ID) {
            return texts(value.field(), stored)
                    .anyMatch(text -> text.toLowerCase(Locale.ROOT).contains(part));
        }
        Stream<String> texts = of instanceof Query.Message
                ? present(stored.record().message())
                : of instanceof Query.Name name
                        ? texts(name.field(), stored)
                        : of instanceof Query.Value value
                                ? texts(value.field(), stored)
                                : of instanceof Query.Metadata metadata
                                        ? found(stored.record().metadata(), metadata.path())
                                        : everyText(stored);
        return texts.flatMap(text -> Arrays.stream(text.split("[^\\p{L}\\p{N}]+")))
                .map(word -> plain(word.toLowerCase(Locale.ROOT)))
                .anyMatch(word -> word.contains(plain(part))
                        && !List.of("4f3a9b21", "volume2024").contains(word));
    }

    /** A query of times. */
    public static Query time(Random random) {
        OffsetDateTime start = FIRST_HOUR.plusHours(random.nextInt(100));
        OffsetDateTime end = random.nextBoolean() ? null : start.plusHours(random.nextInt(50));
        return new Query.Time(
                end == null && random.nextBoolean(), random.nextInt(3) == 0 && end != null ? null : start, end);
    }

    private static List<String> values(Field field) {
        return switch (field) {
            case ID -> List.of("019ae2f1-0000-7000-8000-000000000000");
            case ACTION -> ACTIONS;
            case ACTOR_TYPE, SUBJECT_TYPE -> TYPES;
            case OUTCOME -> OUTCOMES;
            case IP -> ADDRESSES;
            case RECORDED_BY -> List.of("role:role 1", "role:role 2");
            case ACTOR, ACTOR_ID, ACTOR_NAME, SUBJECT, SUBJECT_ID, SUBJECT_NAME -> PEOPLE;
        };
    }

    private static String inAnyCase(String text, Random random) {
        return switch (random.nextInt(3)) {
            case 0 -> text.toUpperCase(Locale.ROOT);
            case 1 -> text.toLowerCase(Locale.ROOT);
            default -> text;
        };
    }

    /** The meaning of the language, implemented differently. */
    public static boolean matches(Query query, StoredRecord stored) {
        var record = stored.record();
        if (query instanceof Query.All all) {
            return all.parts().stream().allMatch(part -> matches(part, stored));
        } else if (query instanceof Query.Any any) {
            return any.parts().stream().anyMatch(part -> matches(part, stored));
        } else if (query instanceof Query.Not not) {
            return !matches(not.part(), stored);
        } else if (query instanceof Query.Message message) {
            return record.message() != null && has(record.message(), message.words(), message.prefix());
        } else if (query instanceof Query.Name name) {
            return texts(name.field(), stored).anyMatch(text -> has(text, name.words(), name.prefix()));
        } else if (query instanceof Query.Words words) {
            return everyText(stored).anyMatch(text -> has(text, words.words(), words.prefix()));
        } else if (query instanceof Query.Value value) {
            return texts(value.field(), stored).anyMatch(text -> is(text, value.value(), value.prefix()));
        } else if (query instanceof Query.Metadata metadata) {
            return found(record.metadata(), metadata.path())
                    .anyMatch(text -> is(text, metadata.value(), metadata.prefix()));
        } else if (query instanceof Query.Within within) {
            return isWithin(within.of(), stored);
        } else if (query instanceof Query.Network network) {
            return record.ipAddress() != null && isIn(record.ipAddress(), network);
        } else if (query instanceof Query.Time time) {
            OffsetDateTime at = time.recorded() ? stored.recordedAt() : record.timestamp();
            return (time.start() == null || !at.isBefore(time.start()))
                    && (time.end() == null || at.isBefore(time.end()));
        }
        throw new AssertionError(query);
    }

    private static boolean is(String text, String wanted, boolean prefix) {
        String lower = text.toLowerCase(Locale.ROOT);
        return prefix
                ? lower.startsWith(wanted.toLowerCase(Locale.ROOT))
                : lower.equals(wanted.toLowerCase(Locale.ROOT));
    }

    private static boolean has(String message, List<String> wanted, boolean prefix) {
        List<String> words = Arrays.asList(message.split("[^\\p{L}\\p{N}]+"));
        for (int from = 0; from + wanted.size() <= words.size(); from++) {
            boolean all = true;
            for (int i = 0; i < wanted.size(); i++) {
                all &= is(plain(words.get(from + i)), plain(wanted.get(i)), prefix && i == wanted.size() - 1);
            }
            if (all) {
                return true;
            }
        }
        return false;
    }

    /** Accents do not count in words. */
    private static String plain(String word) {
        return Normalizer.normalize(word, Normalizer.Form.NFD).replaceAll("[\\u0300-\\u036f]", "");
    }

    private static Stream<String> texts(Field field, StoredRecord stored) {
        var record = stored.record();
        Party actor = record.actor() == null ? new Party(null, null, null) : record.actor();
        Party subject = record.subject() == null ? new Party(null, null, null) : record.subject();
        return switch (field) {
            case ID -> Stream.of(record.id().toString());
            case ACTION -> Stream.of(record.action());
            case ACTOR -> present(actor.id(), actor.name());
            case ACTOR_ID -> present(actor.id());
            case ACTOR_NAME -> present(actor.name());
            case ACTOR_TYPE -> present(actor.type());
            case SUBJECT -> present(subject.id(), subject.name());
            case SUBJECT_ID -> present(subject.id());
            case SUBJECT_NAME -> present(subject.name());
            case SUBJECT_TYPE -> present(subject.type());
            case OUTCOME -> present(record.outcome());
            case IP -> present(record.ipAddress());
            case RECORDED_BY -> present(stored.recordedBy());
        };
    }

    /** The metadata count as one text, because a phrase may begin with a name and end in its value. */
    private static Stream<String> everyText(StoredRecord stored) {
        return Stream.concat(
                Arrays.stream(Field.values()).filter(field -> field != Field.ID).flatMap(field -> texts(field, stored)),
                present(stored.record().message(), stored.record().metadata()));
    }

    private static Stream<String> present(@Nullable String... texts) {
        return Arrays.stream(texts).filter(text -> text != null);
    }

    private static Stream<String> found(@Nullable String metadata, List<String> path) {
        if (metadata == null) {
            return Stream.of();
        }
        JsonNode at;
        try {
            at = JSON.readTree(metadata);
        } catch (JsonProcessingException e) {
            throw new AssertionError(e);
        }
        for (String name : path) {
            at = at.isArray() ? at.path(Integer.parseInt(name)) : at.path(name);
        }
        List<String> texts = new ArrayList<>();
        for (JsonNode element : at.isArray() ? at : List.of(at)) {
            if (!element.isMissingNode() && !element.isNull()) {
                texts.add(element.isNumber() ? "1.50" : element.isContainerNode() ? "{" : element.asText());
            }
        }
        return texts.stream();
    }

    private static boolean isIn(String address, Query.Network network) {
        try {
            byte[] one = InetAddress.getByName(address).getAddress();
            byte[] other = InetAddress.getByName(network.address()).getAddress();
            int rest = 8 * one.length - network.bits();
            return one.length == other.length
                    && new BigInteger(1, one).shiftRight(rest).equals(new BigInteger(1, other).shiftRight(rest));
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
    }

    /** Appends records, many of which share values. */
    public static void append(SqlFixture log, UUID project, int count, Random random) throws SQLException {
        try (Connection connection = log.connect();
                PreparedStatement insert = connection.prepareStatement("""
                insert into annals.audit_record
                  (project_id, "timestamp", action, actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
                    outcome, ip_address, message, metadata, recorded_by_role)
                values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?::inet, ?, ?::jsonb, ?)""")) {
            for (int record = 0; record < count; record++) {
                insert.setObject(1, project);
                insert.setObject(2, FIRST_HOUR.plusHours(random.nextInt(100)));
                insert.setString(3, of(ACTIONS, random));
                insert.setString(4, maybe(TYPES, random));
                insert.setString(5, maybe(PEOPLE, random));
                insert.setString(6, maybe(PEOPLE, random));
                insert.setString(7, maybe(TYPES, random));
                insert.setString(8, maybe(PEOPLE, random));
                insert.setString(9, maybe(PEOPLE, random));
                insert.setString(10, maybe(OUTCOMES, random));
                insert.setString(11, maybe(ADDRESSES, random));
                insert.setString(12, random.nextInt(5) == 0 ? null : message(random));
                insert.setString(13, random.nextInt(3) == 0 ? null : metadata(random));
                insert.setString(14, "role " + random.nextInt(3));
                insert.addBatch();
            }
            insert.executeBatch();
            connection.commit();
        }
    }

    private static String message(Random random) {
        StringBuilder message = new StringBuilder();
        for (int word = random.nextInt(1, 9); word > 0; word--) {
            message.append(of(WORDS, random)).append(of(SEPARATORS, random));
        }
        return message.toString();
    }

    private static String metadata(Random random) {
        var made = JSON.createObjectNode();
        made.put("color", of(PLAIN, random));
        switch (random.nextInt(4)) {
            case 0 -> made.putObject("a").put("b.c", of(PLAIN, random));
            case 1 -> made.putArray("list").add(of(PLAIN, random)).add(of(PLAIN, random));
            case 2 -> made.putArray("list").addNull().add(true);
            default -> made.put("color", true).putNull("list");
        }
        return made.toString();
    }

    private static @Nullable String maybe(List<String> values, Random random) {
        return random.nextInt(4) == 0 ? null : of(values, random);
    }

    /** Picks one element. */
    public static <T> T of(List<T> values, Random random) {
        return values.get(random.nextInt(values.size()));
    }
}
