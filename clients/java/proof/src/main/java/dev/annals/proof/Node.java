package dev.annals.proof;

import java.util.ArrayList;
import java.util.List;

/**
 * A complete node of a Merkle tree: {@code 1 << height} leaves from {@code index << height}. It never changes when the tree grows.
 *
 * @param height 0 for a leaf
 * @param index counts the nodes of this height from the left, from 0
 */
public record Node(int height, long index) {

    /** The index of its first leaf. */
    public long start() {
        return index << height;
    }

    /** The index after its last leaf. */
    public long end() {
        return (index + 1) << height;
    }

    /** The fewest nodes that cover the leaves from {@code start} to before {@code end}, from left to right: at most two of each height. */
    public static List<Node> covering(long start, long end) {
        if (start < 0 || start > end) {
            throw new IllegalArgumentException("there are no leaves from " + start + " to before " + end);
        }
        List<Node> nodes = new ArrayList<>();
        for (long at = start; at < end; ) {
            int aligned = at == 0 ? Long.SIZE - 2 : Long.numberOfTrailingZeros(at);
            int height = Math.min(aligned, Long.SIZE - 1 - Long.numberOfLeadingZeros(end - at));
            nodes.add(new Node(height, at >> height));
            at += 1L << height;
        }
        return nodes;
    }
}
