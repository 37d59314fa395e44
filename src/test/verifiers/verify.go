// Verifies a log by what others have written: sumdb/note and sumdb/tlog of golang.org/x/mod, and the proofs of
// transparency-dev/merkle. Only the leaf is computed here, as docs/leaf-format.md specifies it.
//
// Environment: ANNALS_URL, the feed's address; ANNALS_TOKEN; ANNALS_VKEY, the key of the log. Argument: a file that keeps the
// newest checkpoint. Whatever does not hold ends it with exit code 1.
//
// With the arguments "x/mod" or "merkle" and a folder it verifies a mirror with one of the two alone: what a client of tlog-tiles
// reads, the log's key in vkey, and in seen the checkpoint of an earlier time.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const (
	height  = 8
	width   = 1 << height
	maxBody = 64 << 20
)

var web = &http.Client{Timeout: time.Minute}

func main() {
	var err error
	if len(os.Args) == 3 {
		err = verifyMirror(os.Args[1], os.Args[2])
	} else {
		err = verify(os.Getenv("ANNALS_URL"), os.Getenv("ANNALS_VKEY"), os.Args[1])
	}
	if err != nil {
		fmt.Println("refused:", err)
		os.Exit(1)
	}
}

func verify(feed, vkey, seenFile string) error {
	key, err := note.NewVerifier(vkey)
	if err != nil {
		return err
	}
	log := feed + "/log/" + key.Name()[strings.LastIndex(key.Name(), "/")+1:]
	text, err := get(log + "/checkpoint")
	if err != nil {
		return err
	}
	tree, err := open(text, key)
	if err != nil {
		return err
	}
	tiles := &tileReader{log: log, known: map[tlog.Tile][]byte{}}
	hashes := tlog.TileHashReader(tree, tiles)
	if root, err := tlog.TreeHash(tree.N, hashes); err != nil || root != tree.Hash {
		return fmt.Errorf("the tiles have another root than the checkpoint: %v", err)
	}
	if err := verifyEntries(log, tree, hashes); err != nil {
		return err
	}
	if err := verifyRecords(feed, tree, hashes); err != nil {
		return err
	}
	if seen, err := os.ReadFile(seenFile); err == nil {
		before, err := open(seen, key)
		if err != nil {
			return err
		}
		if err := verifyConsistency(feed, before, tree); err != nil {
			return fmt.Errorf("the log of %d records does not continue that of %d: %w", tree.N, before.N, err)
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(seenFile, text, 0o600); err != nil {
		return err
	}
	fmt.Printf("verified %d records\n", tree.N)
	return nil
}

func verifyMirror(with, folder string) error {
	vkey, err := os.ReadFile(folder + "/vkey")
	if err != nil {
		return err
	}
	key, err := note.NewVerifier(strings.TrimSpace(string(vkey)))
	if err != nil {
		return err
	}
	var trees [2]tlog.Tree
	for i, name := range []string{"seen", "checkpoint"} {
		text, err := os.ReadFile(folder + "/" + name)
		if err != nil {
			return err
		}
		if trees[i], err = open(text, key); err != nil {
			return err
		}
	}
	seen, tree := trees[0], trees[1]
	if tree.N < seen.N {
		return errors.New("the log has become shorter")
	}
	if with == "merkle" {
		err = verifyByMerkle(folder, seen, tree)
	} else {
		err = verifyByTlog(folder, seen, tree)
	}
	if err == nil {
		fmt.Printf("verified %d records\n", tree.N)
	}
	return err
}

func verifyByTlog(folder string, seen, tree tlog.Tree) error {
	hashes := tlog.TileHashReader(tree, &tileReader{log: folder, known: map[tlog.Tile][]byte{}})
	proof, err := tlog.ProveTree(tree.N, seen.N, hashes)
	if err != nil {
		return err
	}
	if err := tlog.CheckTree(proof, tree.N, tree.Hash, seen.N, seen.Hash); err != nil {
		return err
	}
	return eachEntry(folder, tree, func(index int64, entry []byte) error {
		path, err := tlog.ProveRecord(tree.N, index, hashes)
		if err != nil {
			return err
		}
		return tlog.CheckRecord(path, tree.N, tree.Hash, index, tlog.RecordHash(entry))
	})
}

func verifyByMerkle(folder string, seen, tree tlog.Tree) error {
	hasher := rfc6962.DefaultHasher
	nodes := map[compact.NodeID][]byte{}
	keep := func(id compact.NodeID, hash []byte) { nodes[id] = hash }
	whole := (&compact.RangeFactory{Hash: hasher.HashChildren}).NewEmptyRange(0)
	var leaves [][]byte
	err := eachEntry(folder, tree, func(index int64, entry []byte) error {
		leaves = append(leaves, hasher.HashLeaf(entry))
		return whole.Append(leaves[index], keep)
	})
	if err != nil {
		return err
	}
	path := func(of proof.Nodes) ([][]byte, error) {
		var hashes [][]byte
		for _, id := range of.IDs {
			hashes = append(hashes, nodes[id])
		}
		return of.Rehash(hashes, hasher.HashChildren)
	}
	for index := range leaves {
		of, err := proof.Inclusion(uint64(index), uint64(tree.N))
		if err != nil {
			return err
		}
		hashes, err := path(of)
		if err != nil {
			return err
		}
		if err := proof.VerifyInclusion(hasher, uint64(index), uint64(tree.N), leaves[index], hashes, tree.Hash[:]); err != nil {
			return fmt.Errorf("entry %d: %w", index, err)
		}
	}
	of, err := proof.Consistency(uint64(seen.N), uint64(tree.N))
	if err != nil {
		return err
	}
	hashes, err := path(of)
	if err != nil {
		return err
	}
	return proof.VerifyConsistency(hasher, uint64(seen.N), uint64(tree.N), hashes, seen.Hash[:], tree.Hash[:])
}

// get reads what is at an address of the service, or in a mirror.
func get(url string) ([]byte, error) {
	if !strings.HasPrefix(url, "http://") {
		return os.ReadFile(url)
	}
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("ANNALS_TOKEN"))
	answer, err := web.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s %s", url, answer.Status, body)
	}
	return body, err
}

// open reads a checkpoint that the key has signed.
func open(text []byte, key note.Verifier) (tlog.Tree, error) {
	opened, err := note.Open(text, note.VerifierList(key))
	if err != nil {
		return tlog.Tree{}, err
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[0] != key.Name() {
		return tlog.Tree{}, fmt.Errorf("this is no checkpoint of %s", key.Name())
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return tlog.Tree{}, err
	}
	root, err := tlog.ParseHash(lines[2])
	return tlog.Tree{N: size, Hash: root}, err
}

type tileReader struct {
	log   string
	known map[tlog.Tile][]byte
}

func (r *tileReader) Height() int { return height }

// Only authenticated tiles come here.
func (r *tileReader) SaveTiles(tiles []tlog.Tile, data [][]byte) {
	for i, tile := range tiles {
		r.known[tile] = data[i]
	}
}

func (r *tileReader) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	read := make([][]byte, len(tiles))
	for i, tile := range tiles {
		if data, ok := r.known[tile]; ok {
			read[i] = data
			continue
		}
		// C2SP tlog-tiles leaves the height out, which is always 8.
		data, err := get(r.log + "/" + strings.Replace(tile.Path(), "tile/8/", "tile/", 1))
		if err != nil {
			return nil, err
		}
		read[i] = data
	}
	return read, nil
}

// verifyEntries proves each entry of each bundle, with two verifiers.
func verifyEntries(log string, tree tlog.Tree, hashes tlog.HashReader) error {
	return eachEntry(log, tree, func(index int64, entry []byte) error {
		return included(tree, index, entry, hashes)
	})
}

func eachEntry(log string, tree tlog.Tree, check func(index int64, entry []byte) error) error {
	for start := int64(0); start < tree.N; start += width {
		count := min(width, tree.N-start)
		tile := tlog.Tile{H: height, L: 0, N: start / width, W: int(count)}
		bundle, err := get(log + "/" + strings.Replace(tile.Path(), "tile/8/0/", "tile/entries/", 1))
		if err != nil {
			return err
		}
		for at := int64(0); at < count; at++ {
			if len(bundle) < 2 || len(bundle) < 2+int(binary.BigEndian.Uint16(bundle)) {
				return fmt.Errorf("the entry bundle %d ends before entry %d", start/width, at)
			}
			end := 2 + int(binary.BigEndian.Uint16(bundle))
			if err := check(start+at, bundle[2:end]); err != nil {
				return fmt.Errorf("entry %d: %w", start+at, err)
			}
			bundle = bundle[end:]
		}
		if len(bundle) > 0 {
			return fmt.Errorf("the entry bundle %d has more than %d entries", start/width, count)
		}
	}
	return nil
}

func included(tree tlog.Tree, index int64, entry []byte, hashes tlog.HashReader) error {
	path, err := tlog.ProveRecord(tree.N, index, hashes)
	if err != nil {
		return err
	}
	if err := tlog.CheckRecord(path, tree.N, tree.Hash, index, tlog.RecordHash(entry)); err != nil {
		return err
	}
	return proof.VerifyInclusion(rfc6962.DefaultHasher, uint64(index), uint64(tree.N),
		rfc6962.DefaultHasher.HashLeaf(entry), slices(path), tree.Hash[:])
}

func slices(hashes []tlog.Hash) [][]byte {
	all := make([][]byte, len(hashes))
	for i := range hashes {
		all[i] = hashes[i][:]
	}
	return all
}

// verifyConsistency checks the service's own proof, with two verifiers.
func verifyConsistency(feed string, before, after tlog.Tree) error {
	body, err := get(fmt.Sprintf("%s/log/consistency?from=%d&to=%d", feed, before.N, after.N))
	if err != nil {
		return err
	}
	var answer struct{ Hashes tlog.TreeProof }
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	if before.N > 0 {
		if err := tlog.CheckTree(answer.Hashes, after.N, after.Hash, before.N, before.Hash); err != nil {
			return err
		}
	}
	return proof.VerifyConsistency(rfc6962.DefaultHasher, uint64(before.N), uint64(after.N),
		slices(answer.Hashes), before.Hash[:], after.Hash[:])
}

// verifyRecords reads the whole feed up to the checkpoint, and proves each record.
func verifyRecords(feed string, tree tlog.Tree, hashes tlog.HashReader) error {
	for index := int64(0); index < tree.N; {
		body, err := get(fmt.Sprintf("%s?limit=500&cursor=%d&proof=%d", feed, index, tree.N))
		if err != nil {
			return err
		}
		var page struct{ Results []map[string]any }
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		if err := decoder.Decode(&page); err != nil {
			return err
		}
		if len(page.Results) == 0 {
			return fmt.Errorf("the feed ends before record %d", index+1)
		}
		for _, record := range page.Results {
			if canonical(record["sequence_id"]) != strconv.FormatInt(index+1, 10) {
				return fmt.Errorf("record %v is in the place of %d", record["sequence_id"], index+1)
			}
			entry, err := entryOf(record)
			if err == nil {
				err = included(tree, index, entry, hashes)
			}
			if err != nil {
				return fmt.Errorf("record %d: %w", index+1, err)
			}
			index++
		}
	}
	return nil
}

var fields = map[string]bool{"action": true, "actor.id": true, "actor.name": true, "actor.type": true, "ip_address": true,
	"message": true, "metadata": true, "number": true, "outcome": true, "recorded_by": true, "subject.id": true,
	"subject.name": true, "subject.type": true, "timestamp": true}

func entryOf(record map[string]any) ([]byte, error) {
	set := map[string]any{}
	leaf := map[string]any{"annals": "leaf/1"}
	for name, value := range record {
		switch name {
		case "seed", "salts", "redacted":
		case "id", "recorded_at", "sequence_id":
			leaf[name] = value
		case "actor", "subject":
			parts, _ := value.(map[string]any)
			for part, is := range parts {
				set[name+"."+part] = is
			}
		default:
			set[name] = value
		}
	}
	if metadata, ok := set["metadata"].(map[string]any); ok && len(metadata) == 0 {
		delete(set, "metadata")
	}
	salts, digests, err := saltsOf(record, set)
	if err != nil {
		return nil, err
	}
	for name, value := range set {
		_, gone := digests[name]
		if !fields[name] || gone {
			return nil, fmt.Errorf("no leaf covers %s", name)
		}
		digest := sha256.Sum256([]byte(canonical([]any{salts[name], name, value})))
		digests[name] = base64.RawURLEncoding.EncodeToString(digest[:])
	}
	leaf["fields"] = digests
	entry := sha256.Sum256([]byte(canonical(leaf)))
	return entry[:], nil
}

// saltsOf gives the salt of each field that is set, and the digest of each that was redacted.
func saltsOf(record, set map[string]any) (salts, digests map[string]any, err error) {
	digests = map[string]any{}
	if redacted, ok := record["redacted"].(map[string]any); ok {
		salts, _ = record["salts"].(map[string]any)
		if len(salts) != len(set) {
			return nil, nil, errors.New("it has other salts than fields")
		}
		for name := range set {
			if !isBase64URL(salts[name], 16) {
				return nil, nil, fmt.Errorf("it has no salt of %s", name)
			}
		}
		for name, digest := range redacted {
			if !fields[name] || !isBase64URL(digest, sha256.Size) {
				return nil, nil, fmt.Errorf("it has no digest of %s", name)
			}
			digests[name] = digest
		}
		return salts, digests, nil
	}
	text, _ := record["seed"].(string)
	seed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(seed) != sha256.Size {
		return nil, nil, errors.New("it has neither a seed nor salts")
	}
	salts = map[string]any{}
	for name := range set {
		hash := sha256.Sum256(append(seed[:len(seed):len(seed)], name...))
		salts[name] = base64.RawURLEncoding.EncodeToString(hash[:16])
	}
	return salts, digests, nil
}

func isBase64URL(value any, size int) bool {
	text, _ := value.(string)
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && len(decoded) == size
}

func canonical(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(value)
	case json.Number:
		return value.String()
	case string:
		return quoted(value)
	case []any:
		parts := make([]string, len(value))
		for i := range value {
			parts[i] = canonical(value[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		names := make([]string, 0, len(value))
		for name := range value {
			names = append(names, name)
		}
		sort.Slice(names, func(i, j int) bool { return before(names[i], names[j]) })
		for i, name := range names {
			names[i] = quoted(name) + ":" + canonical(value[name])
		}
		return "{" + strings.Join(names, ",") + "}"
	}
	panic(fmt.Sprintf("%T is not in JSON", value))
}

// before compares by UTF-16 code units.
func before(a, b string) bool {
	x, y := utf16.Encode([]rune(a)), utf16.Encode([]rune(b))
	for i := 0; i < len(x) && i < len(y); i++ {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return len(x) < len(y)
}

func quoted(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, c := range text {
		if at := strings.IndexRune("\"\\\b\f\n\r\t", c); at >= 0 {
			out.WriteByte('\\')
			out.WriteByte("\"\\bfnrt"[at])
		} else if c < ' ' {
			fmt.Fprintf(&out, "\\u%04x", c)
		} else {
			out.WriteRune(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}
