package dev.annals.proof;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * A tree that is hashed by the definitions of RFC 6962 alone.
 *
 * @param known hashes that were computed before
 */
record TestTree(List<Hash> leaves, Map<Node, Hash> known) implements Function<Node, Hash> {

    TestTree(List<Hash> leaves) {
        this(leaves, new HashMap<>());
    }

    @Override
    public Hash apply(Node node) {
        return known.computeIfAbsent(node, asked -> root(leaves.subList((int) asked.start(), (int) asked.end())));
    }

    /** MTH(D[0:size]). */
    Hash root(long size) {
        return root(leaves.subList(0, (int) size));
    }

    private static Hash root(List<Hash> leaves) {
        if (leaves.isEmpty()) {
            return Hash.EMPTY_TREE;
        }
        if (leaves.size() == 1) {
            return leaves.get(0);
        }
        int half = Integer.highestOneBit(leaves.size() - 1);
        return Hash.node(root(leaves.subList(0, half)), root(leaves.subList(half, leaves.size())));
    }

    List<Hash> hashes(List<MerkleTree.Part> parts) {
        return parts.stream().map(part -> part.hash(this)).toList();
    }
}
