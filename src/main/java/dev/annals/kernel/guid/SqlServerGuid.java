package dev.annals.kernel.guid;

import java.nio.ByteBuffer;
import java.util.UUID;

/**
 * Sequential GUIDs in SQL Server's order, for keys that end up in a {@code uniqueidentifier} column.
 *
 * <p>SQL Server compares the bytes of a GUID, in the order of its text, by the places 10 to 15, 8, 9, 7, 6, 5, 4, 3, 2, 1, 0
 * (as {@code System.Data.SqlTypes.SqlGuid} does, which counts them as .NET holds them in memory). The first byte of a
 * sequential GUID moves to the first of these places, and so on. The conversion can be undone exactly. Version and variant move
 * with their bytes, so the result is not a UUID of RFC 9562.
 */
public final class SqlServerGuid {

    /** Places in the text, from the most significant to the least. */
    private static final int[] SIGNIFICANCE = {10, 11, 12, 13, 14, 15, 8, 9, 7, 6, 5, 4, 3, 2, 1, 0};

    private SqlServerGuid() {}

    /** The same key for SQL Server: {@code of} keeps the order of {@link SequentialGuid#compare}. */
    public static UUID of(UUID sequential) {
        byte[] from = bytes(sequential);
        byte[] to = new byte[16];
        for (int i = 0; i < 16; i++) {
            to[SIGNIFICANCE[i]] = from[i];
        }
        return uuid(to);
    }

    /** The sequential GUID that {@link #of} was given. */
    public static UUID toSequential(UUID sqlServer) {
        byte[] from = bytes(sqlServer);
        byte[] to = new byte[16];
        for (int i = 0; i < 16; i++) {
            to[i] = from[SIGNIFICANCE[i]];
        }
        return uuid(to);
    }

    /**
     * Orders GUIDs as SQL Server orders its {@code uniqueidentifier}.
     *
     * @return negative, zero or positive, as {@link java.util.Comparator#compare} has it
     */
    public static int compare(UUID left, UUID right) {
        return SequentialGuid.compare(toSequential(left), toSequential(right));
    }

    private static byte[] bytes(UUID guid) {
        return ByteBuffer.allocate(16)
                .putLong(guid.getMostSignificantBits())
                .putLong(guid.getLeastSignificantBits())
                .array();
    }

    private static UUID uuid(byte[] bytes) {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        return new UUID(buffer.getLong(), buffer.getLong());
    }
}
