//! The files that the rows work on.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, io, process};

use memmap2::{Mmap, MmapMut};

use crate::Outcome;

pub const KB: usize = 1 << 10;
pub const MB: usize = 1 << 20;
pub const GB: usize = 1 << 30;

/// The directory for the files, which goes with its contents when it is dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Outcome<Scratch> {
        let parent = env::var_os("BENCH_DIR")
            .filter(|dir| !dir.is_empty())
            .map_or_else(env::temp_dir, PathBuf::from);
        // The time is for what is left of a process that had the same id and was killed.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let dir = parent.join(format!("peers-{}-{}", process::id(), now.as_nanos()));
        fs::create_dir(&dir).map_err(|err| format!("{}: {err}", dir.display()))?;
        Ok(Scratch(dir))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file of this size for reading alone: the rows that ask for one size share the file.
    pub fn data(&self, size: usize) -> io::Result<PathBuf> {
        let path = self.path(&format!("data-{size}"));
        if !path.exists() {
            fill(&path, size)?;
        }
        Ok(path)
    }

    /// A file of this size that a row has for itself.
    pub fn own_data(&self, name: &str, size: usize) -> io::Result<PathBuf> {
        let path = self.path(name);
        fill(&path, size)?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(err) = fs::remove_dir_all(&self.0) {
            eprintln!("peers: {}: {err}", self.0.display());
        }
    }
}

/// Writes a pattern without zeros, whose length divides no power of two.
fn fill(path: &Path, size: usize) -> io::Result<()> {
    let bytes: Vec<u8> = (0..size).map(|i| 1 + (i % 251) as u8).collect();
    let mut file = File::create(path)?;
    file.write_all(&bytes)?;
    // Else the disk is busy with it while the rows are measured.
    file.sync_all()
}

/// Opens a file for memmap2 to map it writable.
pub fn open_rw(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// Creates a file full of zeros, as mmap-io does in create_rw.
pub fn create_rw(path: &Path, size: usize) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)?;
    file.set_len(size as u64)?;
    Ok(file)
}

pub fn map_ro(path: &Path) -> io::Result<Mmap> {
    // SAFETY: the file is in a directory of this process, which does not change it.
    unsafe { Mmap::map(&File::open(path)?) }
}

pub fn map_rw(file: &File) -> io::Result<MmapMut> {
    // SAFETY: the file is in a directory of this process, which changes it through the mapping.
    unsafe { MmapMut::map_mut(file) }
}

/// The generator that the benchmarks of mmap-io draw their offsets from, xorshift64.
pub struct Offsets {
    state: u64,
    count: u64,
}

impl Offsets {
    /// Draws from the offsets at which `len` bytes begin that are in the first `size`.
    pub fn new(size: usize, len: usize) -> Offsets {
        Offsets {
            state: 0xC0FFEE,
            count: (size - len) as u64 + 1,
        }
    }

    pub fn draw(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % self.count
    }
}
