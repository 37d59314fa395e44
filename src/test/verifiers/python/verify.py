"""Verifies the mirror of a log by pymerkle, and its signature by cryptography.

Argument: a folder with what a client of tlog-tiles reads, the log's key in vkey, and in seen the checkpoint of an earlier time.
"""

import base64
import pathlib
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pymerkle import InmemoryTree, InvalidProof, verify_consistency, verify_inclusion

WIDTH = 256


class Refused(Exception):
    pass


def opened(folder, name):
    origin, key_id, key = (folder / "vkey").read_text().strip().split("+", 2)
    text, signatures = (folder / name).read_text().rsplit("\n\n", 1)
    text += "\n"
    for line in signatures.splitlines():
        signer, signature = line.removeprefix("\u2014 ").split(" ")
        signature = base64.b64decode(signature)
        if signer == origin and signature[:4] == bytes.fromhex(key_id):
            Ed25519PublicKey.from_public_bytes(base64.b64decode(key)[1:]).verify(signature[4:], text.encode())
            lines = text.split("\n")
            if lines[0] != origin:
                raise Refused("the checkpoint is another log's")
            return int(lines[1]), base64.b64decode(lines[2])
    raise Refused("the log's key has not signed this checkpoint")


def entries(folder, size):
    for start in range(0, size, WIDTH):
        count = min(WIDTH, size - start)
        name = f"{start // WIDTH:03}" + ("" if count == WIDTH else f".p/{count}")
        bundle = (folder / "tile" / "entries" / name).read_bytes()
        for _ in range(count):
            length = int.from_bytes(bundle[:2], "big")
            if len(bundle) < 2 + length or not length:
                raise Refused("an entry bundle ends too early")
            yield bundle[2 : 2 + length]
            bundle = bundle[2 + length :]
        if bundle:
            raise Refused("an entry bundle has too many entries")


def verify(folder):
    size, root = opened(folder, "checkpoint")
    seen_size, seen_root = opened(folder, "seen")
    if size < seen_size:
        raise Refused("the log has become shorter")
    tree = InmemoryTree(algorithm="sha256")
    for entry in entries(folder, size):
        tree.append_entry(entry)
    for index in range(1, size + 1, 37):
        verify_inclusion(tree.get_leaf(index), root, tree.prove_inclusion(index, size))
    verify_consistency(seen_root, root, tree.prove_consistency(seen_size, size))
    if tree.get_root() != root:
        raise Refused("the entries have another root")
    return size


try:
    print(f"verified {verify(pathlib.Path(sys.argv[1]))} records")
except (Refused, InvalidProof, InvalidSignature) as why:
    print(f"refused: {type(why).__name__} {why}")
    sys.exit(1)
