package dev.annals.tools.ops;

import dev.annals.derived.log.StoredEntry;
import dev.annals.derived.proof.Tile;
import dev.annals.derived.proof.TileSeed;
import dev.annals.kernel.database.Sql;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Hash;
import dev.annals.proof.Node;
import dev.annals.proof.Note;
import dev.annals.tools.command.Progress;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.DateTimeException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Compares the records of a database and its stored tiles with a checkpoint. It hashes all records that have not expired, up to 256 at
 * a time, and compares the root with the signed one. If they differ, the stored hashes show which records differ, as long as the
 * stored hashes still lead to the signed root.
 */
final class SignedRecords {

    private static final Sql VERIFY_TILE = Sql.named("derived/log/read_stored_tile");
    private static final Sql READ_LEAF_RECORDS = Sql.named("derived/log/read_leaf_records");
    private static final Sql READ_TILES = Sql.named("derived/log/read_tiles");
    private static final Sql READ_TILE_ROOTS = Sql.named("derived/log/read_tile_roots");
    private static final Sql READ_LOG = Sql.named("derived/log/read_log");

    private final Connection connection;
    private final UUID projectId;
    private final Checkpoint signed;
    private final CompactRange ofRecords = CompactRange.at(0);
    private final CompactRange ofStored = CompactRange.at(0);
    private final Progress progress;
    /** Roots by the sizes of the tree that were signed. */
    private final Map<Long, Hash> roots = new HashMap<>();

    /** The roots at the signed size. */
    private Hash ofRecordsThen = Hash.EMPTY_TREE;

    private Hash ofStoredThen = Hash.EMPTY_TREE;
    private int found;

    SignedRecords(Connection connection, UUID projectId, Checkpoint signed, Progress progress) {
        this.connection = connection;
        this.projectId = projectId;
        this.signed = signed;
        this.progress = progress;
    }

    /**
     * The tree of a project's log in the database; null if it is empty. An attacker who changes records could change it, too; an
     * accident would not change both alike.
     */
    static @Nullable Checkpoint stored(Connection connection, UUID projectId) throws SQLException {
        CompactRange frontier = frontier(connection, projectId);
        return frontier.end() == 0 ? null : new Checkpoint("stored", frontier.end(), frontier.root());
    }

    /** Prints findings up to a number. */
    private record Findings(int most, Consumer<String> print) {}

    /**
     * Compares all records.
     *
     * @param most the number of findings to print; all are counted
     * @return the number of findings
     */
    int compare(int most, Consumer<String> print) throws SQLException {
        Findings findings = new Findings(most, print);
        CompactRange frontier = frontier(connection, projectId);
        long size = Math.max(signed.size(), frontier.end());
        for (Checkpoint note : notes()) {
            roots.put(note.size(), Hash.EMPTY_TREE);
        }
        for (long start = 0; start < size; start += Tile.WIDTH) {
            if (!compareTile(start, (int) Math.min(Tile.WIDTH, size - start), findings)) {
                break;
            }
        }
        conclude(findings);
        concludeStored(frontier, findings);
        return found;
    }

    /** The stored notes that readers get. */
    private List<Checkpoint> notes() throws SQLException {
        List<Checkpoint> notes = new ArrayList<>();
        try (PreparedStatement select = READ_LOG.bind("project_id", projectId).prepare(connection);
                ResultSet row = select.executeQuery()) {
            if (row.next()) {
                for (String column : List.of("checkpoint", "cosigned")) {
                    String note = row.getString(column);
                    if (note != null) {
                        notes.add(Checkpoint.of(Note.parse(note)));
                    }
                }
            }
        }
        return notes;
    }

    /** Compares the state that the service signs next, and the stored notes, with the stored hashes. */
    private void concludeStored(CompactRange frontier, Findings findings) throws SQLException {
        if (found > 0 || ofStored.end() != frontier.end()) {
            return;
        }
        if (!ofStored.root().equals(frontier.root())) {
            find(
                    findings,
                    "the log's state has other hashes for its " + frontier.end()
                            + " records than its tiles and records");
        }
        for (Checkpoint note : notes()) {
            Hash root = roots.getOrDefault(note.size(), Hash.EMPTY_TREE);
            if (note.size() <= ofStored.end() && !note.root().equals(root)) {
                find(findings, "the stored checkpoint of " + note.size() + " records does not match the records");
            }
        }
    }

    /**
     * Compares a range with the stored hashes of its records. Only {@link #compare(int, Consumer)} compares the root.
     *
     * @param since the sequence id before the first; hashes are stored by tiles, so up to 255 records before it are read, too
     * @param through the last sequence id; null for the last one of the log
     */
    int compare(long since, @Nullable Long through, int most, Consumer<String> print) throws SQLException {
        Findings findings = new Findings(most, print);
        long end = through == null ? signed.size() : Math.min(through, signed.size());
        for (long start = since / Tile.WIDTH * Tile.WIDTH; start < end; start += Tile.WIDTH) {
            if (!compareTile(start, (int) Math.min(Tile.WIDTH, signed.size() - start), findings)) {
                break;
            }
        }
        return found;
    }

    /**
     * Compares the records of a restored archive with the root that the original log has signed.
     *
     * @param before the tree of the records before them
     * @param behind the tree of the records after them
     */
    int compareArchive(CompactRange before, CompactRange behind, int most, Consumer<String> print) throws SQLException {
        Findings findings = new Findings(most, print);
        CompactRange tree = CompactRange.of(0, before.end(), before.hashes());
        long start = before.end();
        while (start < behind.start()) {
            long end = Math.min(behind.start(), start / Tile.WIDTH * Tile.WIDTH + Tile.WIDTH);
            progress.show(projectId + ": records compared: " + start + " of " + behind.start());
            @Nullable Hash[] entries = new Hash[(int) (end - start)];
            byte[] seed = seed(start / Tile.WIDTH);
            if (readEntries(start, entries, seed == null ? null : TileSeed.of(seed), null, findings) < entries.length) {
                find(findings, "some of the records " + (start + 1) + " to " + end + " are missing");
            }
            for (Hash entry : entries) {
                tree.append((entry == null ? Hash.EMPTY_TREE : entry).leaf());
            }
            start = end;
        }
        tree.append(behind);
        if (tree.end() != signed.size() || !tree.root().equals(signed.root())) {
            find(
                    findings,
                    "at least one of the records " + (before.end() + 1) + " to " + behind.start()
                            + " is not the one that the log of " + signed.size() + " records has signed");
        }
        return found;
    }

    private byte @Nullable [] seed(long tile) throws SQLException {
        try (PreparedStatement select = VERIFY_TILE
                        .bind("project_id", projectId)
                        .bind("tile", tile)
                        .prepare(connection);
                ResultSet row = select.executeQuery()) {
            row.next();
            return row.getBytes("seed");
        }
    }

    private void find(Findings findings, String finding) {
        if (found < findings.most) {
            findings.print.accept(finding);
        } else if (found == findings.most) {
            findings.print.accept("and more; see --findings");
        }
        found++;
    }

    /** Takes in the records of one tile; false where they end. */
    private boolean compareTile(long start, int count, Findings findings) throws SQLException {
        progress.show(projectId + ": records compared: " + start + " of " + signed.size());
        TileSeed seed;
        byte[] stored;
        byte[] root;
        try (PreparedStatement select = VERIFY_TILE
                        .bind("project_id", projectId)
                        .bind("tile", start / Tile.WIDTH)
                        .prepare(connection);
                ResultSet row = select.executeQuery()) {
            row.next();
            byte[] bytes = row.getBytes("seed");
            seed = bytes == null ? null : TileSeed.of(bytes);
            stored = row.getBytes("hashes");
            root = row.getBytes("root");
        }
        if (stored != null && root != null && count == Tile.WIDTH) {
            compareTiles(start / Tile.WIDTH, stored, Hash.at(root, 0), findings);
        }
        @Nullable Hash[] entries = new Hash[count];
        int read = readEntries(start, entries, seed, stored, findings);
        if (seed == null) {
            find(
                    findings,
                    "the seed of the records " + (start + 1) + " to " + (start + count)
                            + " is missing, so they cannot be compared");
            return false;
        }
        for (int at = 0; at < count; at++) {
            Hash was = stored == null ? null : Hash.at(stored, at * Hash.BYTES);
            Hash is = entries[at];
            // A record that cannot be hashed differs from every record.
            Hash taken = is == null ? Hash.EMPTY_TREE : is;
            ofRecords.append(taken.leaf());
            ofStored.append((was == null ? taken : was).leaf());
            if (ofStored.end() == signed.size()) {
                ofRecordsThen = ofRecords.root();
                ofStoredThen = ofStored.root();
            }
            if (roots.containsKey(ofStored.end())) {
                roots.put(ofStored.end(), ofStored.root());
            }
        }
        if (stored == null) {
            compareFrontier(start, entries, findings);
        }
        if (read < count) {
            find(
                    findings,
                    "the feed ends before record " + Math.max(signed.size(), start + count)
                            + ", which the log contains");
            return false;
        }
        return true;
    }

    /** A tile that is stored. */
    private record StoredTile(List<Hash> hashes, Hash root) {

        static StoredTile of(byte[] bytes, Hash root, boolean entries) {
            List<Hash> hashes = new ArrayList<>(Tile.WIDTH);
            for (int at = 0; at < Tile.WIDTH; at++) {
                Hash hash = Hash.at(bytes, at * Hash.BYTES);
                hashes.add(entries ? hash.leaf() : hash);
            }
            return new StoredTile(hashes, root);
        }

        /** The root that follows from the hashes. */
        Hash computed() {
            CompactRange range = CompactRange.at(0);
            hashes.forEach(range::append);
            return range.root();
        }
    }

    /** Compares the root of a full tile with its hashes, and each tile above that it completes with the level below. */
    private void compareTiles(long tile, byte[] entries, Hash root, Findings findings) throws SQLException {
        compareRoot(0, tile, StoredTile.of(entries, root, true), findings);
        int level = 1;
        for (long below = tile + 1; below % Tile.WIDTH == 0; below /= Tile.WIDTH) {
            compareAbove(level, below / Tile.WIDTH - 1, findings);
            level++;
        }
    }

    private void compareRoot(int level, long tile, StoredTile stored, Findings findings) {
        if (!stored.computed().equals(stored.root())) {
            find(
                    findings,
                    "tile " + tile + " of level " + level
                            + " is damaged: its stored root does not follow from its hashes");
        }
    }

    private void compareAbove(int level, long tile, Findings findings) throws SQLException {
        StoredTile stored = tile(level, tile);
        if (stored == null) {
            find(findings, "the log lacks tile " + tile + " of level " + level);
            return;
        }
        List<Hash> below = roots(level - 1, tile * Tile.WIDTH);
        for (int at = 0; at < Tile.WIDTH; at++) {
            long from = tile * Tile.WIDTH + at;
            Hash hash = stored.hashes.get(at);
            if (at < below.size() && hash.equals(below.get(at))) {
                continue;
            }
            // The root below may be the one that is damaged, which was found with its own tile.
            StoredTile source = tile(level - 1, from);
            if (source == null || !hash.equals(source.computed())) {
                find(
                        findings,
                        "tile " + tile + " of level " + level + " is damaged: its hash " + at
                                + " is not the root of tile " + from + " of level " + (level - 1));
            }
        }
        compareRoot(level, tile, stored, findings);
    }

    private @Nullable StoredTile tile(int level, long tile) throws SQLException {
        try (PreparedStatement select = READ_TILES
                        .bind("project_id", projectId)
                        .bind("level", new Integer[] {level})
                        .bind("tile", new Long[] {tile})
                        .prepare(connection);
                ResultSet row = select.executeQuery()) {
            return row.next()
                    ? StoredTile.of(row.getBytes("hashes"), Hash.at(row.getBytes("root"), 0), level == 0)
                    : null;
        }
    }

    /** The roots of 256 tiles, as they are stored. */
    private List<Hash> roots(int level, long first) throws SQLException {
        List<Hash> roots = new ArrayList<>();
        try (PreparedStatement select = READ_TILE_ROOTS
                        .bind("project_id", projectId)
                        .bind("level", level)
                        .bind("first", first)
                        .bind("last", first + Tile.WIDTH - 1)
                        .prepare(connection);
                ResultSet row = select.executeQuery()) {
            while (row.next()) {
                roots.add(Hash.at(row.getBytes("root"), 0));
            }
        }
        return roots;
    }

    private int readEntries(
            long start, @Nullable Hash[] entries, @Nullable TileSeed seed, byte @Nullable [] stored, Findings findings)
            throws SQLException {
        int read = 0;
        try (PreparedStatement select = READ_LEAF_RECORDS
                        .bind("project_id", new String[] {projectId.toString()})
                        .bind("first", new Long[] {start + 1})
                        .bind("last", new Long[] {start + entries.length})
                        .prepare(connection);
                ResultSet row = select.executeQuery()) {
            while (row.next()) {
                read++;
                long sequenceId = row.getLong("sequence_id");
                int at = (int) (sequenceId - 1 - start);
                String named = "record " + row.getString("record_id") + " with the sequence id " + sequenceId;
                byte[] kept = row.getBytes("entry");
                Hash entry = kept != null
                        ? Hash.at(kept, 0)
                        : seed == null ? null : entry(row, sequenceId, seed, named, findings);
                entries[at] = entry;
                if (entry != null && stored != null && !entry.equals(Hash.at(stored, at * Hash.BYTES))) {
                    find(findings, named + " does not match the log");
                }
            }
        }
        return read;
    }

    private @Nullable Hash entry(ResultSet row, long sequenceId, TileSeed seed, String named, Findings findings)
            throws SQLException {
        if (row.getObject("id") == null) {
            find(findings, named + " is gone");
            return null;
        }
        try {
            Hash entry = StoredEntry.of(row, sequenceId, seed);
            if (entry == null) {
                find(findings, named + " has lost its seed, and nothing of it was redacted");
            }
            return entry;
        } catch (IllegalArgumentException | DateTimeException e) {
            find(findings, named + " cannot be served, and so does not match the log");
            return null;
        }
    }

    /** Records after the last full tile are only in the frontier, which has hashes of several together. */
    private void compareFrontier(long start, @Nullable Hash[] entries, Findings findings) throws SQLException {
        CompactRange frontier = frontier(connection, projectId);
        List<Node> nodes = Node.covering(0, frontier.end());
        for (int i = 0; i < nodes.size(); i++) {
            Node node = nodes.get(i);
            if (node.start() >= start && node.end() <= start + entries.length) {
                CompactRange range = CompactRange.at(node.start());
                for (long leaf = node.start(); leaf < node.end(); leaf++) {
                    Hash entry = entries[(int) (leaf - start)];
                    range.append((entry == null ? Hash.EMPTY_TREE : entry).leaf());
                }
                if (!range.hashes().get(0).equals(frontier.hashes().get(i))) {
                    find(
                            findings,
                            node.end() - node.start() == 1
                                    ? "the record with the sequence id " + node.end() + " does not match the log"
                                    : "at least one of the records with the sequence ids " + (node.start() + 1) + " to "
                                            + node.end() + " does not match the log");
                }
            }
        }
    }

    private static CompactRange frontier(Connection connection, UUID projectId) throws SQLException {
        try (PreparedStatement select = READ_LOG.bind("project_id", projectId).prepare(connection);
                ResultSet row = select.executeQuery()) {
            if (!row.next()) {
                return CompactRange.at(0);
            }
            return CompactRange.of(0, row.getLong("size"), row.getBytes("frontier"));
        }
    }

    private void conclude(Findings findings) {
        if (signed.root().equals(ofRecordsThen)) {
            return;
        }
        if (signed.root().equals(ofStoredThen) && found > 0) {
            // The stored hashes are those that were signed, and the records that differ from them are named.
            return;
        }
        find(
                findings,
                "the records with the sequence ids 1 to " + signed.size() + " are not those that the log has signed"
                        + (found > 0 ? "" : "; the stored hashes were changed with them and do not show which"));
    }
}
