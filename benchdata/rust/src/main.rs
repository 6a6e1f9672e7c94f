//! Measures the crates mmap-io and memmap2, as peers of the Go package mmapfile.
//!
//! It prints its results in the format of Go's benchmarks, and is called as a test binary is: it
//! knows `-test.benchtime=50ms`, and does all rows whatever else is asked for. The files go into a
//! directory of their own below $BENCH_DIR, or else below the one for temporary files.

mod rows;

use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, process, thread};

use memmap2::{Mmap, MmapMut};

/// What everything here returns that can fail.
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

pub const KB: usize = 1 << 10;
pub const MB: usize = 1 << 20;
pub const GB: usize = 1 << 30;

fn main() -> Outcome {
    let mut goal = Duration::from_millis(20);
    for arg in env::args() {
        if let Some(time) = arg.strip_prefix("-test.benchtime=") {
            let ms = time.strip_suffix("ms").ok_or("want a benchtime like 50ms")?;
            goal = Duration::from_millis(ms.parse()?);
        }
    }
    let parent = env::var_os("BENCH_DIR").map_or_else(env::temp_dir, PathBuf::from);
    let dir = parent.join(format!("peers-{}", process::id()));
    fs::create_dir(&dir)?;
    let lab = Lab { goal, dir };
    let outcome = rows::all(&lab);
    fs::remove_dir_all(&lab.dir)?;
    outcome
}

/// What package testing does for benchmarks in Go.
pub struct Lab {
    goal: Duration,
    dir: PathBuf,
}

impl Lab {
    /// Measures a row with one implementation: how long `op` takes, again and again for some time.
    /// Before that it runs once, to have its pages mapped and its files allocated.
    pub fn measure(
        &self,
        row: &str,
        implementation: &str,
        mut op: impl FnMut() -> Outcome,
    ) -> Outcome {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let suffix = if cores > 1 { format!("-{cores}") } else { String::new() };
        print!("Benchmark{row}/impl={implementation}{suffix}\t");
        io::stdout().flush()?;
        op()?;
        let mut n = 1;
        loop {
            let start = Instant::now();
            for _ in 0..n {
                op()?;
            }
            let took = start.elapsed();
            if took >= self.goal {
                println!("{n}\t{:.2} ns/op", took.as_nanos() as f64 / n as f64);
                return Ok(());
            }
            // A fifth more than that asks for, and not too many if this was too short to go by.
            let needed = self.goal.as_nanos() * 6 / 5 * n / took.as_nanos().max(1);
            n = needed.clamp(n + 1, 100 * n);
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// A file of this size without zeros. Rows that ask for one name and size share it.
    pub fn data(&self, name: &str, size: usize) -> io::Result<PathBuf> {
        let path = self.path(&format!("{name}-{size}"));
        if !path.exists() {
            let bytes: Vec<u8> = (0..size).map(|i| 1 + (i % 251) as u8).collect();
            let mut file = File::create(&path)?;
            file.write_all(&bytes)?;
            file.sync_all()?; // else the disk is busy with it while the rows are measured
        }
        Ok(path)
    }
}

pub fn map_ro(path: &Path) -> io::Result<Mmap> {
    // SAFETY: the file is in a directory of this process, which does not change it.
    unsafe { Mmap::map(&File::open(path)?) }
}

/// Opens a file for memmap2 to map it writable, and creates one with a size, as mmap-io does.
pub fn open_rw(path: &Path, create: Option<usize>) -> io::Result<File> {
    let new = create.is_some();
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(new).truncate(new).open(path)?;
    if let Some(size) = create {
        file.set_len(size as u64)?;
    }
    Ok(file)
}

pub fn map_rw(path: &Path, create: Option<usize>) -> io::Result<MmapMut> {
    // SAFETY: the file is in a directory of this process, which changes it through the mapping.
    unsafe { MmapMut::map_mut(&open_rw(path, create)?) }
}
