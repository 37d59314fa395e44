package dev.annals.writer;

import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.AbstractList;
import java.util.Base64;
import java.util.Calendar;
import java.util.Collections;
import java.util.Date;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.BaseStream;

/** Turns values into those that JSON has: a null, boolean, number, text, map or iterable. The table is in docs/clients.md. */
// Java 11 has no patterns. A java.util.Date is converted, not used.
@SuppressWarnings({"PatternMatchingInstanceof", "JavaUtilDate"})
final class Values {

    private Values() {}

    /** Does not convert the contents of a map or iterable yet. */
    static Object plain(Object given) throws Exception {
        Object value = given;
        for (int i = 0; i < Json.MAX_DEPTH && value instanceof Optional; i++) {
            value = ((Optional<?>) value).orElse(null);
        }
        if (value == null
                || value instanceof Boolean
                || value instanceof Number
                || value instanceof CharSequence
                || value instanceof Map) {
            return value;
        }
        if (value instanceof Enum) {
            return ((Enum<?>) value).name();
        }
        if (value instanceof Throwable) {
            String message = ((Throwable) value).getMessage();
            return value.getClass().getName() + (message == null ? "" : ": " + message);
        }
        if (value instanceof Iterator
                || value instanceof BaseStream
                || (value instanceof Iterable && value instanceof AutoCloseable)) {
            // Reading an iterator would consume the application's values.
            return "(iterator)";
        }
        if (value.getClass().isArray() || value instanceof ByteBuffer) {
            return array(value);
        }
        if (value instanceof Map.Entry) {
            Map.Entry<?, ?> entry = (Map.Entry<?, ?>) value;
            return Collections.singletonMap(entry.getKey(), entry.getValue());
        }
        if (isJackson(value.getClass())) {
            return jackson(value);
        }
        if (value instanceof Iterable && !(value instanceof Path)) {
            return value;
        }
        if (isRecord(value.getClass())) {
            return components(value);
        }
        return other(value);
    }

    /** Replaces a value that cannot be read. */
    static String unreadable(Throwable cause) {
        if (cause instanceof VirtualMachineError && !(cause instanceof StackOverflowError)) {
            throw (VirtualMachineError) cause;
        }
        return "(unreadable: " + cause.getClass().getName() + ")";
    }

    private static Object other(Object value) {
        if (value instanceof OptionalInt) {
            OptionalInt number = (OptionalInt) value;
            return number.isPresent() ? number.getAsInt() : null;
        }
        if (value instanceof OptionalLong) {
            OptionalLong number = (OptionalLong) value;
            return number.isPresent() ? number.getAsLong() : null;
        }
        if (value instanceof OptionalDouble) {
            OptionalDouble number = (OptionalDouble) value;
            return number.isPresent() ? number.getAsDouble() : null;
        }
        if (value instanceof OffsetDateTime) {
            return ((OffsetDateTime) value).toInstant().toString();
        }
        if (value instanceof ZonedDateTime) {
            return ((ZonedDateTime) value).toInstant().toString();
        }
        if (value instanceof Calendar) {
            return ((Calendar) value).toInstant().toString();
        }
        // A lambda.
        if (value.getClass().isSynthetic()) {
            return "(function)";
        }
        // A java.sql.Date or Time is no instant. Its text is exact.
        boolean isMoment = value instanceof Date && !value.getClass().getName().matches("java\\.sql\\.(Date|Time)");
        return isMoment ? ((Date) value).toInstant().toString() : String.valueOf(value);
    }

    private static Object array(Object array) {
        if (array instanceof byte[]) {
            return Base64.getEncoder().encodeToString((byte[]) array);
        }
        if (array instanceof ByteBuffer) {
            ByteBuffer bytes = ((ByteBuffer) array).duplicate();
            byte[] copy = new byte[bytes.remaining()];
            bytes.get(copy);
            return Base64.getEncoder().encodeToString(copy);
        }
        if (array instanceof char[]) {
            return new String((char[]) array);
        }
        return new AbstractList<Object>() {
            @Override
            public Object get(int index) {
                return Array.get(array, index);
            }

            @Override
            public int size() {
                return Array.getLength(array);
            }
        };
    }

    private static boolean isRecord(Class<?> type) {
        return type.getSuperclass() != null && type.getSuperclass().getName().equals("java.lang.Record");
    }

    private static Map<String, Object> components(Object value) throws Exception {
        Map<String, Object> components = new LinkedHashMap<>();
        // Java 11 has no records.
        Object[] declared =
                (Object[]) Class.class.getMethod("getRecordComponents").invoke(value.getClass());
        for (Object component : declared) {
            String name = (String) component.getClass().getMethod("getName").invoke(component);
            Method accessor =
                    (Method) component.getClass().getMethod("getAccessor").invoke(component);
            Object read;
            try {
                ((AccessibleObject) accessor).setAccessible(true);
                read = accessor.invoke(value);
            } catch (ReflectiveOperationException | RuntimeException e) {
                read = unreadable(e.getCause() == null ? e : e.getCause());
            }
            components.put(name, read);
        }
        return components;
    }

    /** Whether the type is a tree node of Jackson 2 or 3. The client does not depend on Jackson. */
    private static boolean isJackson(Class<?> type) {
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            if (isNode(at)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isNode(Class<?> type) {
        return type.getName().equals("com.fasterxml.jackson.databind.JsonNode")
                || type.getName().equals("tools.jackson.databind.JsonNode");
    }

    private static Object jackson(Object node) throws Exception {
        Class<?> type = node.getClass();
        while (!isNode(type)) {
            type = type.getSuperclass();
        }
        boolean isJackson2 = type.getName().startsWith("com.");
        switch (String.valueOf(type.getMethod("getNodeType").invoke(node))) {
            case "OBJECT":
                Object names = type.getMethod(isJackson2 ? "fieldNames" : "propertyNames")
                        .invoke(node);
                Iterator<?> each = isJackson2 ? (Iterator<?>) names : ((Iterable<?>) names).iterator();
                Method get = type.getMethod("get", String.class);
                Map<Object, Object> fields = new LinkedHashMap<>();
                while (each.hasNext() && fields.size() <= Json.MAX_VALUES) {
                    Object name = each.next();
                    fields.put(name, get.invoke(node, name));
                }
                return fields;
            case "ARRAY":
                return node;
            case "NUMBER":
                return type.getMethod("numberValue").invoke(node);
            case "BOOLEAN":
                return type.getMethod("booleanValue").invoke(node);
            case "STRING":
                return type.getMethod(isJackson2 ? "textValue" : "stringValue").invoke(node);
            case "BINARY":
                return plain(type.getMethod("binaryValue").invoke(node));
            case "POJO":
                return plain(node.getClass().getMethod("getPojo").invoke(node));
            case "NULL":
            case "MISSING":
                return null;
            default:
                return String.valueOf(node);
        }
    }
}
