//! The rows. Each is after one of the benchmarks of mmap-io, and does the same with memmap2.
//!
//! What does not change between iterations goes through black_box where memmap2 would let the
//! compiler see that, and do the work of all iterations once.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, thread};

use memmap2::{MmapOptions, MmapRaw};
use mmap_io::flush::FlushPolicy;
use mmap_io::{MemoryMappedFile, MmapMode};

use crate::bench::Bench;
use crate::files::{create_rw, map_ro, map_rw, open_rw, Offsets, Scratch, GB, KB, MB};
use crate::Outcome;

const PAGE: usize = 4 * KB;

/// The size of the file in rows that do not vary it.
const FILE: usize = 16 * MB;

const FILE_SIZES: [(&str, usize); 3] = [("1MB", MB), ("16MB", 16 * MB), ("256MB", 256 * MB)];

const RANDOM_SIZES: [(&str, usize); 4] = [
    ("64B", 64),
    ("256B", 256),
    ("4KB", 4 * KB),
    ("64KB", 64 * KB),
];

pub fn all(b: &Bench, s: &Scratch) -> Outcome {
    walk(b, s)?;
    walk_writable(b, s)?;
    whole_file(b, s, "Stride", stride)?;
    whole_file(b, s, "Sum", sum)?;
    whole_file(b, s, "SumBytes", sum_bytes)?;
    read_into(b, s)?;
    random_read(b, s)?;
    random_window(b, s)?;
    touch_pages(b, s)?;
    sync_range(b, s)?;
    atomic_add(b, s)?;
    write_policy(b, s)?;
    grow(b, s)
}

fn walk(b: &Bench, s: &Scratch) -> Outcome {
    for (label, window) in [("4KB", 4 * KB), ("64KB", 64 * KB)] {
        b.row(&format!("Walk/window={label}"), FILE, |row| {
            let path = s.data(FILE)?;
            let io = MemoryMappedFile::open_ro(&path)?;
            row.measure("mmap-io", || {
                let windows = io.chunks(black_box(window));
                black_box(windows.map(|w| u64::from(w[0])).sum::<u64>());
                Ok(())
            })?;
            let map = map_ro(&path)?;
            row.measure("memmap2", || {
                let windows = map.chunks(black_box(window));
                black_box(windows.map(|w| u64::from(w[0])).sum::<u64>());
                Ok(())
            })
        })?;
    }
    Ok(())
}

fn walk_writable(b: &Bench, s: &Scratch) -> Outcome {
    let window = 4 * KB;
    b.row("WalkWritable/window=4KB", FILE, |row| {
        let path = s.data(FILE)?;
        let io = MemoryMappedFile::open_rw(&path)?;
        row.measure("mmap-io", || {
            let windows = io.chunks(black_box(window));
            black_box(windows.map(|w| u64::from(w[0])).sum::<u64>());
            Ok(())
        })?;
        let map = map_rw(&open_rw(&path)?)?;
        row.measure("memmap2", || {
            let windows = map.chunks(black_box(window));
            black_box(windows.map(|w| u64::from(w[0])).sum::<u64>());
            Ok(())
        })
    })
}

/// The rows that take one slice of the whole file and read it in some way. That code is there once
/// for both crates: copies of one loop can differ by a factor of two for where they are in memory.
fn whole_file(b: &Bench, s: &Scratch, name: &str, read: fn(&[u8]) -> u64) -> Outcome {
    for (label, size) in FILE_SIZES {
        b.row(&format!("{name}/size={label}"), size, |row| {
            let path = s.data(size)?;
            let io = MemoryMappedFile::open_ro(&path)?;
            row.measure("mmap-io", || {
                let slice = io.as_slice(0, black_box(size as u64))?;
                black_box(read(&slice));
                Ok(())
            })?;
            let map = map_ro(&path)?;
            row.measure("memmap2", || {
                let slice = &map[..black_box(size)];
                black_box(read(slice));
                Ok(())
            })
        })?;
    }
    Ok(())
}

#[inline(never)]
fn stride(slice: &[u8]) -> u64 {
    slice.iter().step_by(PAGE).map(|&b| u64::from(b)).sum()
}

#[inline(never)]
fn sum(slice: &[u8]) -> u64 {
    let words = slice.chunks_exact(8);
    words.fold(0, |sum, word| {
        let word = word.try_into().expect("a chunk of 8 bytes");
        sum.wrapping_add(u64::from_le_bytes(word))
    })
}

#[inline(never)]
fn sum_bytes(slice: &[u8]) -> u64 {
    slice.iter().map(|&b| b as u64).sum()
}

fn read_into(b: &Bench, s: &Scratch) -> Outcome {
    for (label, size) in FILE_SIZES {
        b.row(&format!("ReadInto/size={label}"), size, |row| {
            let path = s.data(size)?;
            let mut buf = vec![0; size];
            let io = MemoryMappedFile::open_ro(&path)?;
            row.measure("mmap-io", || {
                io.read_into(0, &mut buf)?;
                black_box(&mut buf);
                Ok(())
            })?;
            let map = map_ro(&path)?;
            row.measure("memmap2", || {
                buf.copy_from_slice(&map);
                black_box(&mut buf);
                Ok(())
            })
        })?;
    }
    Ok(())
}

fn random_read(b: &Bench, s: &Scratch) -> Outcome {
    for (label, size) in RANDOM_SIZES {
        b.row(&format!("RandomRead/size={label}"), size, |row| {
            let path = s.data(FILE)?;
            let mut buf = vec![0; size];
            let io = MemoryMappedFile::open_ro(&path)?;
            io.touch_pages()?;
            let mut offsets = Offsets::new(FILE, size);
            row.measure("mmap-io", || {
                io.read_into(offsets.draw(), &mut buf)?;
                black_box(&mut buf);
                Ok(())
            })?;
            let map = map_ro(&path)?;
            touch(&map);
            let mut offsets = Offsets::new(FILE, size);
            row.measure("memmap2", || {
                let off = offsets.draw() as usize;
                buf.copy_from_slice(&map[off..off + size]);
                black_box(&mut buf);
                Ok(())
            })
        })?;
    }
    Ok(())
}

fn random_window(b: &Bench, s: &Scratch) -> Outcome {
    for (label, size) in RANDOM_SIZES {
        b.row(&format!("RandomWindow/size={label}"), 0, |row| {
            let path = s.data(FILE)?;
            let io = MemoryMappedFile::open_ro(&path)?;
            io.touch_pages()?;
            let mut offsets = Offsets::new(FILE, size);
            row.measure("mmap-io", || {
                let slice = io.as_slice(offsets.draw(), size as u64)?;
                black_box(slice[0]);
                Ok(())
            })?;
            let map = map_ro(&path)?;
            touch(&map);
            let mut offsets = Offsets::new(FILE, size);
            row.measure("memmap2", || {
                let off = offsets.draw() as usize;
                let slice = &map[off..off + size];
                black_box(slice[0]);
                Ok(())
            })
        })?;
    }
    Ok(())
}

/// Reads a byte of each page, which memmap2 has no call for.
fn touch(slice: &[u8]) {
    for byte in slice.iter().step_by(PAGE) {
        // SAFETY: it is a reference.
        unsafe { std::ptr::read_volatile(byte) };
    }
}

fn touch_pages(b: &Bench, s: &Scratch) -> Outcome {
    b.row("TouchPages/size=1GB", GB, |row| {
        let path = s.path("touch");
        let io = MemoryMappedFile::create_rw(&path, GB as u64)?;
        row.measure("mmap-io", || Ok(io.touch_pages()?))?;
        // Its pages go before those of the other come.
        drop(io);
        let map = map_rw(&create_rw(&path, GB)?)?;
        row.measure("memmap2", || {
            touch(&map);
            Ok(())
        })?;
        Ok(fs::remove_file(&path)?)
    })
}

fn sync_range(b: &Bench, s: &Scratch) -> Outcome {
    for (label, size) in [("64B", 64), ("4KB", 4 * KB)] {
        b.row(&format!("SyncRange/size={label}"), size, |row| {
            let path = s.own_data("sync", 64 * KB)?;
            let data = vec![0xCD; size];
            let io = MemoryMappedFile::open_rw(&path)?;
            row.measure("mmap-io", || {
                io.update_region(0, &data)?;
                Ok(io.flush_range(0, size as u64)?)
            })?;
            drop(io);
            let mut map = map_rw(&open_rw(&path)?)?;
            row.measure("memmap2", || {
                map[..size].copy_from_slice(&data);
                Ok(map.flush_range(0, size)?)
            })
        })?;
    }
    Ok(())
}

/// How often each thread adds to the counter in an iteration.
const ADDS: usize = 10_000;

fn atomic_add(b: &Bench, s: &Scratch) -> Outcome {
    for threads in [1, 2] {
        // The rows are named after what runs on the other side.
        b.row(&format!("AtomicAdd/goroutines={threads}"), 0, |row| {
            let path = s.own_data("atomic", 64)?;
            let io = MemoryMappedFile::open_rw(&path)?;
            row.measure("mmap-io", || {
                let counter = io.atomic_u64(0)?;
                in_threads(threads, || add(&counter));
                Ok(())
            })?;
            drop(io);
            let map = MmapOptions::new().map_raw(&open_rw(&path)?)?;
            row.measure("memmap2", || {
                let counter = first_word(&map);
                in_threads(threads, || add(counter));
                Ok(())
            })
        })?;
    }
    Ok(())
}

fn in_threads(n: usize, work: impl Fn() + Sync) {
    // The scope joins them.
    thread::scope(|scope| {
        for _ in 0..n {
            scope.spawn(&work);
        }
    });
}

#[inline(never)]
fn add(counter: &AtomicU64) {
    for _ in 0..ADDS {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

fn first_word(map: &MmapRaw) -> &AtomicU64 {
    // SAFETY: the mapping lives as long as the reference, begins with a page, and has 64 bytes
    // that nothing reads or writes in another way.
    unsafe { AtomicU64::from_ptr(map.as_mut_ptr().cast()) }
}

fn write_policy(b: &Bench, s: &Scratch) -> Outcome {
    let policies = [
        ("none", FlushPolicy::Manual),
        ("64KB", FlushPolicy::EveryBytes(64 * KB)),
        ("10ms", FlushPolicy::EveryMillis(10)),
    ];
    let size = 4 * MB;
    let data = vec![0xC7; 64 * KB];
    for (label, policy) in policies {
        b.row(&format!("WritePolicy/policy={label}"), size, |row| {
            let path = s.path("policy");
            let io = MemoryMappedFile::builder(&path)
                .mode(MmapMode::ReadWrite)
                .size(size as u64)
                .flush_policy(policy)
                .create()?;
            row.measure("mmap-io", || {
                for off in (0..size).step_by(data.len()) {
                    io.update_region(off as u64, &data)?;
                }
                Ok(())
            })?;
            drop(io);
            // There are no policies in memmap2.
            if policy != FlushPolicy::Manual {
                return Ok(());
            }
            let mut map = map_rw(&create_rw(&path, size)?)?;
            row.measure("memmap2", || {
                for part in map.chunks_exact_mut(data.len()) {
                    part.copy_from_slice(&data);
                }
                black_box(&mut map);
                Ok(())
            })
        })?;
    }
    Ok(())
}

/// Not for memmap2, which leaves it to the caller to extend the file.
fn grow(b: &Bench, s: &Scratch) -> Outcome {
    b.row("Grow", 0, |row| {
        let io = MemoryMappedFile::create_rw(s.path("grow"), MB as u64)?;
        row.measure("mmap-io", || {
            io.resize(8 * MB as u64)?;
            Ok(io.resize(MB as u64)?)
        })
    })
}
