package dev.annals.proof;

import java.util.ArrayList;
import java.util.List;

/**
 * The hashes of the nodes that {@link Node#covering} gives for the leaves from {@code start} to before {@code end}. Leaves and adjacent
 * ranges can be appended. A range from 0 computes the root of its tree, so it suffices to grow a tree.
 *
 * <p>The structure is that of {@code compact.Range} in transparency-dev/merkle. Not thread-safe.
 */
public final class CompactRange {

    private final long start;
    private long end;
    private final List<Hash> hashes;

    private CompactRange(long start, long end, List<Hash> hashes) {
        this.start = start;
        this.end = end;
        this.hashes = hashes;
    }

    public static CompactRange at(long start) {
        return new CompactRange(start, start, new ArrayList<>());
    }

    /**
     * A range with known hashes.
     *
     * @throws IllegalArgumentException if such a range has another number of hashes
     */
    public static CompactRange of(long start, long end, List<Hash> hashes) {
        int nodes = Node.covering(start, end).size();
        if (nodes != hashes.size()) {
            throw new IllegalArgumentException("the leaves " + start + " to before " + end + " have " + nodes
                    + " hashes, and not " + hashes.size());
        }
        return new CompactRange(start, end, new ArrayList<>(hashes));
    }

    /** The hashes have 32 bytes each. */
    public static CompactRange of(long start, long end, byte[] bytes) {
        if (bytes.length % Hash.BYTES != 0) {
            throw new IllegalArgumentException(bytes.length + " bytes are no hashes");
        }
        List<Hash> hashes = new ArrayList<>(bytes.length / Hash.BYTES);
        for (int at = 0; at < bytes.length; at += Hash.BYTES) {
            hashes.add(Hash.at(bytes, at));
        }
        return of(start, end, hashes);
    }

    /** The index of the first leaf. */
    public long start() {
        return start;
    }

    /** The index after the last leaf. */
    public long end() {
        return end;
    }

    /** From left to right. */
    public List<Hash> hashes() {
        return List.copyOf(hashes);
    }

    /** 32 bytes for each hash. */
    public byte[] bytes() {
        byte[] bytes = new byte[hashes.size() * Hash.BYTES];
        for (int i = 0; i < hashes.size(); i++) {
            hashes.get(i).copyTo(bytes, i * Hash.BYTES);
        }
        return bytes;
    }

    public void append(Hash leaf) {
        append(new Node(0, end), leaf);
    }

    private void append(Node next, Hash hash) {
        Hash merged = hash;
        int height = next.height();
        long index = next.index();
        // The last node is the left sibling. Both become one node.
        while ((index & 1) == 1 && ((index - 1) << height) >= start) {
            merged = Hash.node(hashes.remove(hashes.size() - 1), merged);
            index >>= 1;
            height++;
        }
        hashes.add(merged);
        end = next.end();
    }

    /**
     * Appends the leaves of another range.
     *
     * @throws IllegalArgumentException if {@code next} does not begin where this range ends
     */
    public void append(CompactRange next) {
        if (next.start != end) {
            throw new IllegalArgumentException("leaf " + next.start + " does not follow " + end);
        }
        List<Node> nodes = Node.covering(next.start, next.end);
        for (int i = 0; i < nodes.size(); i++) {
            append(nodes.get(i), next.hashes.get(i));
        }
    }

    /**
     * The root of the tree of these leaves.
     *
     * @throws IllegalStateException if the range does not begin at 0
     */
    public Hash root() {
        if (start != 0) {
            throw new IllegalStateException("leaves from " + start + " on have no root");
        }
        if (hashes.isEmpty()) {
            return Hash.EMPTY_TREE;
        }
        Hash root = hashes.get(hashes.size() - 1);
        for (int i = hashes.size() - 2; i >= 0; i--) {
            root = Hash.node(hashes.get(i), root);
        }
        return root;
    }
}
