package dev.annals.kernel.guid;

import java.nio.ByteBuffer;
import java.util.UUID;

/**
 * Sequential GUIDs in SQL Server's order, for a {@code uniqueidentifier} column. Version and variant move with their bytes, so
 * the result is not a UUID of RFC 9562.
 */
public final class SqlServerGuid {

    /** Bytes of the text, most significant first. {@code System.Data.SqlTypes.SqlGuid} counts them in .NET's memory order. */
    private static final int[] SIGNIFICANCE = {10, 11, 12, 13, 14, 15, 8, 9, 7, 6, 5, 4, 3, 2, 1, 0};

    private SqlServerGuid() {}

    /** Keeps the order of {@link SequentialGuid#compare}. */
    public static UUID of(UUID sequential) {
        byte[] from = bytes(sequential);
        byte[] to = new byte[16];
        for (int i = 0; i < 16; i++) {
            to[SIGNIFICANCE[i]] = from[i];
        }
        return uuid(to);
    }

    public static UUID toSequential(UUID sqlServer) {
        byte[] from = bytes(sqlServer);
        byte[] to = new byte[16];
        for (int i = 0; i < 16; i++) {
            to[i] = from[SIGNIFICANCE[i]];
        }
        return uuid(to);
    }

    /** SQL Server's order. */
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
