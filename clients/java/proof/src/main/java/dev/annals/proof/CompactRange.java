package dev.annals.proof;

import java.util.ArrayList;
import java.util.List;

/**
 * The hashes that stand for the leaves from {@code start} to before {@code end}: those of the nodes that {@link Node#covering}
 * names. Leaves, and ranges that begin where this one ends, can be appended. A range from 0 on knows the root of its tree, and
 * so it is all that is needed for a tree to grow.
 *
 * <p>The structure is that of {@code compact.Range} in transparency-dev/merkle. Not for several threads.
 */
public final class CompactRange {

    private final long start;
    private long end;
    /** The nodes' hashes, from left to right. */
    private final List<Hash> hashes;

    private CompactRange(long start, long end, List<Hash> hashes) {
        this.start = start;
        this.end = end;
        this.hashes = hashes;
    }

    /** No leaves, at this place. */
    public static CompactRange at(long start) {
        return new CompactRange(start, start, new ArrayList<>());
    }

    /**
     * A range whose hashes are known.
     *
     * @throws IllegalArgumentException if a range of these leaves has another number of hashes
     */
    public static CompactRange of(long start, long end, List<Hash> hashes) {
        int nodes = Node.covering(start, end).size();
        if (nodes != hashes.size()) {
            throw new IllegalArgumentException("the leaves " + start + " to before " + end + " have " + nodes
                    + " hashes, and not " + hashes.size());
        }
        return new CompactRange(start, end, new ArrayList<>(hashes));
    }

    /** The same in bytes: 32 for each hash. */
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

    /** The first leaf. */
    public long start() {
        return start;
    }

    /** The leaf behind the last one. */
    public long end() {
        return end;
    }

    /** The hashes of its nodes, from left to right. */
    public List<Hash> hashes() {
        return List.copyOf(hashes);
    }

    /** The same in bytes. */
    public byte[] bytes() {
        byte[] bytes = new byte[hashes.size() * Hash.BYTES];
        for (int i = 0; i < hashes.size(); i++) {
            hashes.get(i).copyTo(bytes, i * Hash.BYTES);
        }
        return bytes;
    }

    /** Appends the next leaf. */
    public void append(Hash leaf) {
        append(new Node(0, end), leaf);
    }

    /** Appends the next node; it begins at {@link #end}. */
    private void append(Node next, Hash hash) {
        Hash merged = hash;
        int height = next.height();
        long index = next.index();
        // The last node is the left sibling: both become one.
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
     * @throws IllegalArgumentException if it does not begin where this one ends
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
     * The root of the tree of all these leaves.
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
