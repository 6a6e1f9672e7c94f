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

use crate::{map_ro, map_rw, open_rw, Lab, Outcome, GB, KB, MB};

const PAGE: usize = 4 * KB;

/// The size of the file in rows that do not vary it.
const FILE: usize = 16 * MB;

pub fn all(lab: &Lab) -> Outcome {
    walk(lab, "Walk/window=4KB", 4 * KB, false)?;
    walk(lab, "Walk/window=64KB", 64 * KB, false)?;
    walk(lab, "WalkWritable/window=4KB", 4 * KB, true)?;
    for (label, size) in [("1MB", MB), ("16MB", 16 * MB), ("256MB", 256 * MB)] {
        whole_file(lab, &format!("Stride/size={label}"), size, stride)?;
        whole_file(lab, &format!("SumBytes/size={label}"), size, sum_bytes)?;
        read_into(lab, &format!("ReadInto/size={label}"), size)?;
    }
    for (label, size) in [("64B", 64), ("256B", 256), ("4KB", 4 * KB), ("64KB", 64 * KB)] {
        random_read(lab, &format!("RandomRead/size={label}"), size)?;
        random_window(lab, &format!("RandomWindow/size={label}"), size)?;
    }
    touch_pages(lab)?;
    sync_range(lab, "SyncRange/size=64B", 64)?;
    sync_range(lab, "SyncRange/size=4KB", 4 * KB)?;
    // The rows are named after what runs on the other side.
    atomic_add(lab, "AtomicAdd/goroutines=1", 1)?;
    atomic_add(lab, "AtomicAdd/goroutines=2", 2)?;
    write_policy(lab, "WritePolicy/policy=none", FlushPolicy::Manual)?;
    write_policy(lab, "WritePolicy/policy=64KB", FlushPolicy::EveryBytes(64 * KB))?;
    write_policy(lab, "WritePolicy/policy=10ms", FlushPolicy::EveryMillis(10))?;
    grow(lab)
}

fn walk(lab: &Lab, row: &str, window: usize, writable: bool) -> Outcome {
    let path = lab.data("data", FILE)?;
    let io = if writable {
        MemoryMappedFile::open_rw(&path)?
    } else {
        MemoryMappedFile::open_ro(&path)?
    };
    lab.measure(row, "mmap-io", || {
        let windows = io.chunks(black_box(window));
        black_box(windows.map(|w| u64::from(w[0])).sum::<u64>());
        Ok(())
    })?;
    let walk = |map: &[u8]| {
        lab.measure(row, "memmap2", || {
            let windows = map.chunks(black_box(window));
            black_box(windows.map(|w| u64::from(w[0])).sum::<u64>());
            Ok(())
        })
    };
    if writable {
        walk(&map_rw(&path, None)?)
    } else {
        walk(&map_ro(&path)?)
    }
}

/// The rows that take one slice of the whole file and read it in some way. That code is there once
/// for both crates: copies of one loop can differ by a factor of two for where they are in memory.
fn whole_file(lab: &Lab, row: &str, size: usize, read: fn(&[u8]) -> u64) -> Outcome {
    let path = lab.data("data", size)?;
    let io = MemoryMappedFile::open_ro(&path)?;
    lab.measure(row, "mmap-io", || {
        let slice = io.as_slice(0, black_box(size as u64))?;
        black_box(read(&slice));
        Ok(())
    })?;
    let map = map_ro(&path)?;
    lab.measure(row, "memmap2", || {
        black_box(read(&map[..black_box(size)]));
        Ok(())
    })
}

#[inline(never)]
fn stride(slice: &[u8]) -> u64 {
    slice.iter().step_by(PAGE).map(|&b| u64::from(b)).sum()
}

#[inline(never)]
fn sum_bytes(slice: &[u8]) -> u64 {
    slice.iter().map(|&b| b as u64).sum()
}

fn read_into(lab: &Lab, row: &str, size: usize) -> Outcome {
    let path = lab.data("data", size)?;
    let mut buf = vec![0; size];
    let io = MemoryMappedFile::open_ro(&path)?;
    lab.measure(row, "mmap-io", || {
        io.read_into(0, &mut buf)?;
        black_box(&mut buf);
        Ok(())
    })?;
    let map = map_ro(&path)?;
    lab.measure(row, "memmap2", || {
        buf.copy_from_slice(&map);
        black_box(&mut buf);
        Ok(())
    })
}

/// The generator that the benchmarks of mmap-io draw their offsets from, xorshift64: offsets at
/// which `len` bytes begin that are in the first `FILE`.
fn offsets(len: usize) -> impl FnMut() -> usize {
    let mut state: u64 = 0xC0FFEE;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % ((FILE - len) as u64 + 1)) as usize
    }
}

fn random_read(lab: &Lab, row: &str, size: usize) -> Outcome {
    let path = lab.data("data", FILE)?;
    let mut buf = vec![0; size];
    let io = MemoryMappedFile::open_ro(&path)?;
    io.touch_pages()?;
    let mut draw = offsets(size);
    lab.measure(row, "mmap-io", || {
        io.read_into(draw() as u64, &mut buf)?;
        black_box(&mut buf);
        Ok(())
    })?;
    let map = map_ro(&path)?;
    touch(&map);
    let mut draw = offsets(size);
    lab.measure(row, "memmap2", || {
        let off = draw();
        buf.copy_from_slice(&map[off..off + size]);
        black_box(&mut buf);
        Ok(())
    })
}

fn random_window(lab: &Lab, row: &str, size: usize) -> Outcome {
    let path = lab.data("data", FILE)?;
    let io = MemoryMappedFile::open_ro(&path)?;
    io.touch_pages()?;
    let mut draw = offsets(size);
    lab.measure(row, "mmap-io", || {
        let slice = io.as_slice(draw() as u64, size as u64)?;
        black_box(slice[0]);
        Ok(())
    })?;
    let map = map_ro(&path)?;
    touch(&map);
    let mut draw = offsets(size);
    lab.measure(row, "memmap2", || {
        let off = draw();
        let slice = &map[off..off + size];
        black_box(slice[0]);
        Ok(())
    })
}

/// Reads a byte of each page, which memmap2 has no call for.
fn touch(slice: &[u8]) {
    for byte in slice.iter().step_by(PAGE) {
        // SAFETY: it is a reference.
        unsafe { std::ptr::read_volatile(byte) };
    }
}

fn touch_pages(lab: &Lab) -> Outcome {
    let (row, path) = ("TouchPages/size=1GB", lab.path("touch"));
    let io = MemoryMappedFile::create_rw(&path, GB as u64)?;
    lab.measure(row, "mmap-io", || Ok(io.touch_pages()?))?;
    drop(io); // its pages go before those of the other come
    let map = map_rw(&path, Some(GB))?;
    lab.measure(row, "memmap2", || {
        touch(&map);
        Ok(())
    })?;
    Ok(fs::remove_file(&path)?)
}

fn sync_range(lab: &Lab, row: &str, size: usize) -> Outcome {
    let path = lab.data("sync", 64 * KB)?;
    let data = vec![0xCD; size];
    let io = MemoryMappedFile::open_rw(&path)?;
    lab.measure(row, "mmap-io", || {
        io.update_region(0, &data)?;
        Ok(io.flush_range(0, size as u64)?)
    })?;
    drop(io);
    let mut map = map_rw(&path, None)?;
    lab.measure(row, "memmap2", || {
        map[..size].copy_from_slice(&data);
        Ok(map.flush_range(0, size)?)
    })
}

fn atomic_add(lab: &Lab, row: &str, threads: usize) -> Outcome {
    let path = lab.data("atomic", 64)?;
    let io = MemoryMappedFile::open_rw(&path)?;
    lab.measure(row, "mmap-io", || {
        let counter = io.atomic_u64(0)?;
        in_threads(threads, || add(&counter));
        Ok(())
    })?;
    drop(io);
    let map = MmapOptions::new().map_raw(&open_rw(&path, None)?)?;
    lab.measure(row, "memmap2", || {
        let counter = first_word(&map);
        in_threads(threads, || add(counter));
        Ok(())
    })
}

fn in_threads(n: usize, work: impl Fn() + Sync) {
    // The scope joins them.
    thread::scope(|scope| {
        for _ in 0..n {
            scope.spawn(&work);
        }
    });
}

/// How often each thread adds to the counter in an iteration.
const ADDS: usize = 10_000;

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

fn write_policy(lab: &Lab, row: &str, policy: FlushPolicy) -> Outcome {
    let (size, path) = (4 * MB, lab.path("policy"));
    let data = vec![0xC7; 64 * KB];
    let io = MemoryMappedFile::builder(&path)
        .mode(MmapMode::ReadWrite)
        .size(size as u64)
        .flush_policy(policy)
        .create()?;
    lab.measure(row, "mmap-io", || {
        for off in (0..size).step_by(data.len()) {
            io.update_region(off as u64, &data)?;
        }
        Ok(())
    })?;
    drop(io);
    if policy != FlushPolicy::Manual {
        return Ok(()); // there are no policies in memmap2
    }
    let mut map = map_rw(&path, Some(size))?;
    lab.measure(row, "memmap2", || {
        for part in map.chunks_exact_mut(data.len()) {
            part.copy_from_slice(&data);
        }
        black_box(&mut map);
        Ok(())
    })
}

/// Not for memmap2, which leaves it to the caller to extend the file.
fn grow(lab: &Lab) -> Outcome {
    let io = MemoryMappedFile::create_rw(lab.path("grow"), MB as u64)?;
    lab.measure("Grow", "mmap-io", || {
        io.resize(8 * MB as u64)?;
        Ok(io.resize(MB as u64)?)
    })
}
