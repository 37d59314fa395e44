package dev.annals.derived.proof;

import dev.annals.proof.Node;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * 256 consecutive hashes of a tree, as C2SP tlog-tiles serves them. The last tile of a level may have fewer.
 *
 * @param level 0: leaves; 1: the roots of tiles of level 0; and so on, up to 7
 * @param index counts the tiles of this level, from 0
 */
public record Tile(int level, long index, int width) {

    public static final int WIDTH = 256;

    /** The height of the tree inside a tile. */
    public static final int HEIGHT = 8;

    /** Enough for 2<sup>63</sup> - 1 leaves. */
    public static final int LEVELS = 8;

    private static final Pattern PATH = Pattern.compile("((?:x[0-9]{3}/){0,5}[0-9]{3})(?:\\.p/([1-9][0-9]{0,2}))?");

    /** A full tile never changes. */
    public boolean isFull() {
        return width == WIDTH;
    }

    /** The tile that covers a node, in a tree of {@code treeSize} leaves. */
    public static Tile of(Node node, long treeSize) {
        int level = node.height() / HEIGHT;
        return in(treeSize, level, node.index() >> (HEIGHT - node.height() % HEIGHT));
    }

    /**
     * A tile as wide as it is in a tree of {@code treeSize} leaves.
     *
     * @throws IllegalArgumentException if the tree has no such tile
     */
    public static Tile in(long treeSize, int level, long index) {
        long hashes = treeSize >> (HEIGHT * level);
        long width = Math.min(WIDTH, hashes - index * WIDTH);
        if (width < 1) {
            throw new IllegalArgumentException(
                    "a tree of " + treeSize + " leaves has no tile " + index + " of level " + level);
        }
        return new Tile(level, index, (int) width);
    }

    /** The fewest leaves of a tree with this tile. */
    public long treeSize() {
        return (index * WIDTH + width) << (HEIGHT * level);
    }

    /** Reads the end of an address, such as {@code x001/067} or {@code x001/067.p/3}; null if no tile has this address. */
    public static @Nullable Tile parse(int level, String path) {
        Matcher matcher = PATH.matcher(path);
        if (!matcher.matches()) {
            return null;
        }
        long index = Long.parseLong(matcher.group(1).replaceAll("[x/]", ""));
        int width = matcher.group(2) == null ? WIDTH : Integer.parseInt(matcher.group(2));
        boolean partial = matcher.group(2) != null;
        if (level < 0 || level >= LEVELS || width > WIDTH || (partial && width == WIDTH)) {
            return null;
        }
        if (index > Long.MAX_VALUE / WIDTH - 1 || index * WIDTH + width > Long.MAX_VALUE >> (HEIGHT * level)) {
            return null;
        }
        // Each tile has one address: no additional zeros.
        Tile tile = new Tile(level, index, width);
        return tile.path().equals(path) ? tile : null;
    }

    /** As {@link #parse} reads it. */
    public String path() {
        StringBuilder path = new StringBuilder(String.format(Locale.ROOT, "%03d", index % 1000));
        for (long rest = index / 1000; rest > 0; rest /= 1000) {
            path.insert(0, String.format(Locale.ROOT, "x%03d/", rest % 1000));
        }
        return isFull() ? path.toString() : path + ".p/" + width;
    }
}
