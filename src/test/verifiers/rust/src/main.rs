//! Verifies the mirror of a log by Cloudflare's crates `signed_note` and `tlog_tiles`. Argument: a folder with what a client of
//! tlog-tiles reads, the log's key in `vkey`, and in `seen` the checkpoint of an earlier time.

use signed_note::{Note, StandardVerifier, VerifierList};
use std::{env, error::Error, fs, path::PathBuf, process};
use tlog_tiles::{
    check_record, check_tree, prove_record, prove_tree, record_hash, Checkpoint, Tile, TileHashReader, TileReader,
};

const WIDTH: u64 = 256;

struct Mirror(PathBuf);

impl TileReader for Mirror {
    fn height(&self) -> u8 {
        8
    }

    fn read_tiles(&self, tiles: &[Tile]) -> Result<Vec<Vec<u8>>, tlog_tiles::Error> {
        tiles
            .iter()
            .map(|tile| {
                let path = tile.path().replacen("tile/8/", "tile/", 1);
                fs::read(self.0.join(path)).map_err(|_| tlog_tiles::Error::InvalidProof)
            })
            .collect()
    }

    fn save_tiles(&self, _: &[Tile], _: &[Vec<u8>]) {}
}

fn open(mirror: &Mirror, name: &str) -> Result<Checkpoint, Box<dyn Error>> {
    let vkey = fs::read_to_string(mirror.0.join("vkey"))?;
    let key = StandardVerifier::new(vkey.trim()).map_err(|e| format!("{e:?}"))?;
    let note = Note::from_bytes(&fs::read(mirror.0.join(name))?).map_err(|e| format!("{e:?}"))?;
    note.verify(&VerifierList::new(vec![Box::new(key)])).map_err(|e| format!("{e:?}"))?;
    let checkpoint = Checkpoint::from_bytes(note.text()).map_err(|e| e.to_string())?;
    if vkey.split('+').next() != Some(checkpoint.origin()) {
        return Err("the checkpoint is another log's".into());
    }
    Ok(checkpoint)
}

fn verify(mirror: &Mirror) -> Result<u64, Box<dyn Error>> {
    let tree = open(mirror, "checkpoint")?;
    let seen = open(mirror, "seen")?;
    let hashes = TileHashReader::new(tree.size(), *tree.hash(), mirror);
    if tree.size() < seen.size() {
        return Err("the log has become shorter".into());
    }
    let proof = prove_tree(tree.size(), seen.size(), &hashes)?;
    check_tree(&proof, tree.size(), *tree.hash(), seen.size(), *seen.hash())?;
    for bundle in 0..tree.size().div_ceil(WIDTH) {
        let count = WIDTH.min(tree.size() - bundle * WIDTH);
        let path = Tile::new(8, 0, bundle, count as u32, true).path().replacen("tile/8/data/", "tile/entries/", 1);
        let bytes = fs::read(mirror.0.join(path))?;
        let mut rest = bytes.as_slice();
        for at in 0..count {
            let (head, tail) = rest.split_at_checked(2).ok_or("an entry bundle ends too early")?;
            let length = u16::from_be_bytes([head[0], head[1]]).into();
            let (entry, tail) = tail.split_at_checked(length).ok_or("an entry bundle ends too early")?;
            let index = bundle * WIDTH + at;
            let proof = prove_record(tree.size(), index, &hashes)?;
            check_record(&proof, tree.size(), *tree.hash(), index, record_hash(entry))?;
            rest = tail;
        }
        if !rest.is_empty() {
            return Err("an entry bundle has too many entries".into());
        }
    }
    Ok(tree.size())
}

fn main() {
    let folder = env::args_os().nth(1).expect("the folder of a mirror");
    match verify(&Mirror(folder.into())) {
        Ok(size) => println!("verified {size} records"),
        Err(why) => {
            println!("refused: {why}");
            process::exit(1);
        }
    }
}
