package dev.annals.proof;

import java.util.List;
import java.util.function.Function;

/** A tree of these leaves, hashed anew for each question, by the definitions of RFC 6962 alone. */
record TestTree(List<Hash> leaves) implements Function<Node, Hash> {

    @Override
    public Hash apply(Node node) {
        return root(leaves.subList((int) node.start(), (int) node.end()));
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
