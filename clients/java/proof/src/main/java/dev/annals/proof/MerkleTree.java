package dev.annals.proof;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * The Merkle tree of a log, RFC 6962, section 2.1: roots, inclusion proofs (2.1.1), and consistency proofs (2.1.2). To make a proof takes
 * {@link Node}s of the tree; to verify one takes the proof alone.
 *
 * <p>The sizes alone decide which nodes a proof needs, so they can be read beforehand.
 */
public final class MerkleTree {

    private MerkleTree() {}

    /**
     * Consecutive leaves below one node of a tree, complete or not.
     *
     * @param start the index of the first leaf
     * @param end the index after the last leaf
     */
    public record Part(long start, long end) {

        /** Its hash follows from these. */
        public List<Node> nodes() {
            return Node.covering(start, end);
        }

        /** Returns {@link Hash#EMPTY_TREE} if it has no leaf. */
        public Hash hash(Function<Node, Hash> tree) {
            List<Node> nodes = nodes();
            if (nodes.isEmpty()) {
                return Hash.EMPTY_TREE;
            }
            Hash hash = tree.apply(nodes.get(nodes.size() - 1));
            for (int i = nodes.size() - 2; i >= 0; i--) {
                hash = Hash.node(tree.apply(nodes.get(i)), hash);
            }
            return hash;
        }
    }

    public static Part whole(long size) {
        return new Part(0, size);
    }

    /** The parts whose hashes prove that a leaf is in the tree, from its sibling upwards. */
    public static List<Part> inclusion(long index, long size) {
        if (index < 0 || index >= size) {
            throw new IllegalArgumentException("a tree of " + size + " leaves has no leaf " + index);
        }
        List<Part> parts = new ArrayList<>();
        inclusion(index, 0, size, parts);
        return parts;
    }

    private static void inclusion(long index, long start, long end, List<Part> parts) {
        if (end - start == 1) {
            return;
        }
        long middle = start + split(end - start);
        if (index < middle) {
            inclusion(index, start, middle, parts);
            parts.add(new Part(middle, end));
        } else {
            inclusion(index, middle, end, parts);
            parts.add(new Part(start, middle));
        }
    }

    /** The parts whose hashes prove that the larger tree begins with the smaller one. None if {@code from} is 0 or {@code to}. */
    public static List<Part> consistency(long from, long to) {
        if (from < 0 || from > to) {
            throw new IllegalArgumentException("a tree of " + to + " leaves does not begin with one of " + from);
        }
        List<Part> parts = new ArrayList<>();
        if (from > 0 && from < to) {
            consistency(from, 0, to, true, parts);
        }
        return parts;
    }

    private static void consistency(long from, long start, long end, boolean known, List<Part> parts) {
        if (from == end) {
            if (!known) {
                parts.add(new Part(start, end));
            }
            return;
        }
        long middle = start + split(end - start);
        if (from <= middle) {
            consistency(from, start, middle, known, parts);
            parts.add(new Part(middle, end));
        } else {
            consistency(from, middle, end, false, parts);
            parts.add(new Part(start, middle));
        }
    }

    /** The largest power of two below {@code size}, which is 2 or more. */
    private static long split(long size) {
        return Long.highestOneBit(size - 1);
    }

    /**
     * Verifies that a leaf is in a tree, as in RFC 9162, section 2.1.3.2.
     *
     * @param leaf its {@linkplain Hash#leaf hash}
     * @param proof from the leaf's sibling upwards
     */
    public static boolean includes(Hash leaf, long index, long size, List<Hash> proof, Hash root) {
        if (index < 0 || index >= size) {
            return false;
        }
        long node = index;
        long last = size - 1;
        Hash hash = leaf;
        for (Hash sibling : proof) {
            if (last == 0) {
                return false;
            }
            if ((node & 1) == 1 || node == last) {
                hash = Hash.node(sibling, hash);
                while ((node & 1) == 0 && node != 0) {
                    node >>= 1;
                    last >>= 1;
                }
            } else {
                hash = Hash.node(hash, sibling);
            }
            node >>= 1;
            last >>= 1;
        }
        return last == 0 && hash.equals(root);
    }

    /** Verifies that the larger tree begins with the smaller one, as in RFC 9162, section 2.1.4.2. Every tree begins with the empty one. */
    public static boolean isConsistent(long from, Hash fromRoot, long to, Hash toRoot, List<Hash> proof) {
        if (from < 0 || from > to) {
            return false;
        }
        if (from == to || from == 0) {
            return proof.isEmpty() && (from == to ? fromRoot.equals(toRoot) : fromRoot.equals(Hash.EMPTY_TREE));
        }
        List<Hash> path = new ArrayList<>(proof);
        if (Long.bitCount(from) == 1) {
            path.add(0, fromRoot);
        }
        if (path.isEmpty()) {
            return false;
        }
        long node = from - 1;
        long last = to - 1;
        int levels = Long.numberOfTrailingZeros(~node);
        node >>= levels;
        last >>= levels;
        Hash before = path.get(0);
        Hash after = path.get(0);
        for (Hash sibling : path.subList(1, path.size())) {
            if (last == 0) {
                return false;
            }
            if ((node & 1) == 1 || node == last) {
                before = Hash.node(sibling, before);
                after = Hash.node(sibling, after);
                while ((node & 1) == 0 && node != 0) {
                    node >>= 1;
                    last >>= 1;
                }
            } else {
                after = Hash.node(after, sibling);
            }
            node >>= 1;
            last >>= 1;
        }
        return last == 0 && before.equals(fromRoot) && after.equals(toRoot);
    }
}
