package dev.annals.proof;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.derived.proof.Tile;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Proofs are right at every size, and a changed proof fails. */
@BesideTheService
class MerkleTreeTest {

    private static final int SIZE = 300;
    private static final List<Hash> LEAVES =
            LongStream.range(0, SIZE).mapToObj(n -> Hash.of("leaf " + n).leaf()).toList();
    private static final TestTree TREE = new TestTree(LEAVES);
    private static final List<Hash> ROOTS =
            LongStream.rangeClosed(0, SIZE).mapToObj(TREE::root).toList();

    private final Random random = new Random(6962);

    /** Test vectors of Certificate Transparency. */
    @Test
    void knownLeavesHaveTheirKnownRoots() {
        List<String> data = List.of(
                "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f");
        List<String> roots = List.of(
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
                "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
                "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
                "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
                "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
                "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
                "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328");
        CompactRange tree = CompactRange.at(0);
        for (int size = 0; size < roots.size(); size++) {
            assertThat(HexFormat.of().formatHex(tree.root().bytes())).isEqualTo(roots.get(size));
            if (size < data.size()) {
                tree.append(Hash.of(new byte[] {0}, HexFormat.of().parseHex(data.get(size))));
            }
        }
    }

    @Test
    void everyLeafIsProvedInEveryTree() {
        for (int size = 1; size <= SIZE; size++) {
            for (int index = 0; index < size; index += 1 + random.nextInt(20)) {
                List<Hash> proof = TREE.hashes(MerkleTree.inclusion(index, size));
                Hash leaf = LEAVES.get(index);
                assertThat(MerkleTree.includes(leaf, index, size, proof, ROOTS.get(size)))
                        .isTrue();
                assertThat(MerkleTree.includes(leaf, index, size, proof, ROOTS.get(size - 1)))
                        .isFalse();
                assertThat(MerkleTree.includes(LEAVES.get((index + 1) % SIZE), index, size, proof, ROOTS.get(size)))
                        .isFalse();
                int other = random.nextInt(size);
                assertThat(MerkleTree.includes(leaf, other, size, proof, ROOTS.get(size)))
                        .isEqualTo(other == index);
                for (List<Hash> wrong : spoiled(proof)) {
                    assertThat(MerkleTree.includes(leaf, index, size, wrong, ROOTS.get(size)))
                            .isFalse();
                }
            }
        }
    }

    @Test
    void everyTreeIsProvedToBeginWithEverySmallerOne() {
        for (int to = 0; to <= SIZE; to++) {
            for (int from = 0; from <= to; from += 1 + random.nextInt(20)) {
                List<Hash> proof = TREE.hashes(MerkleTree.consistency(from, to));
                assertThat(MerkleTree.isConsistent(from, ROOTS.get(from), to, ROOTS.get(to), proof))
                        .as("%d to %d", from, to)
                        .isTrue();
                Hash wrongRoot = Hash.of("another tree");
                assertThat(MerkleTree.isConsistent(from, wrongRoot, to, ROOTS.get(to), proof))
                        .isFalse();
                if (from > 0) {
                    assertThat(MerkleTree.isConsistent(from, ROOTS.get(from), to, wrongRoot, proof))
                            .isFalse();
                    for (List<Hash> wrong : spoiled(proof)) {
                        assertThat(MerkleTree.isConsistent(from, ROOTS.get(from), to, ROOTS.get(to), wrong))
                                .isFalse();
                    }
                }
            }
        }
    }

    /** Proofs with a changed hash, a missing hash and an additional one. */
    private List<List<Hash>> spoiled(List<Hash> proof) {
        List<List<Hash>> spoiled = new ArrayList<>();
        List<Hash> longer = new ArrayList<>(proof);
        longer.add(Hash.of("one more"));
        spoiled.add(longer);
        if (!proof.isEmpty()) {
            List<Hash> changed = new ArrayList<>(proof);
            changed.set(random.nextInt(proof.size()), Hash.of("changed"));
            spoiled.add(changed);
            spoiled.add(proof.subList(1, proof.size()));
            spoiled.add(proof.subList(0, proof.size() - 1));
        }
        return spoiled;
    }

    @Test
    void rangesThatAreJoinedAreThoseOfAllTheirLeaves() {
        for (int round = 0; round < 2_000; round++) {
            long start = random.nextInt(SIZE);
            long middle = start + random.nextInt((int) (SIZE - start) + 1);
            long end = middle + random.nextInt((int) (SIZE - middle) + 1);
            CompactRange joined = range(start, middle);
            joined.append(range(middle, end));
            assertThat(joined.hashes()).isEqualTo(range(start, end).hashes());
            assertThat(joined.hashes())
                    .isEqualTo(Node.covering(start, end).stream().map(TREE).toList());
            assertThat(CompactRange.of(start, end, joined.bytes()).hashes()).isEqualTo(joined.hashes());
        }
        assertThat(range(0, SIZE).root()).isEqualTo(ROOTS.get(SIZE));
        assertThatThrownBy(() -> CompactRange.of(0, 3, List.of())).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> range(0, 3).append(range(4, 5))).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> range(1, 3).root()).isInstanceOf(IllegalStateException.class);
    }

    private static CompactRange range(long start, long end) {
        CompactRange range = CompactRange.at(start);
        LEAVES.subList((int) start, (int) end).forEach(range::append);
        return range;
    }

    @Test
    void eachNodeIsInItsTile() {
        assertThat(Tile.of(new Node(0, 70_000 - 1), 70_000)).isEqualTo(new Tile(0, 273, 112));
        assertThat(Tile.of(new Node(7, 3), 70_000)).isEqualTo(new Tile(0, 1, 256));
        assertThat(Tile.of(new Node(8, 272), 70_000)).isEqualTo(new Tile(1, 1, 17));
        assertThat(Tile.of(new Node(16, 0), 70_000)).isEqualTo(new Tile(2, 0, 1));
        assertThatThrownBy(() -> Tile.in(70_000, 0, 274)).isInstanceOf(IllegalArgumentException.class);
        assertThat(new Tile(1, 1, 17).treeSize()).isEqualTo((256 + 17) * 256);
    }
}
