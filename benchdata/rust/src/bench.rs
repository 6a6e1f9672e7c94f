//! What package testing does for benchmarks in Go.

use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use crate::args::{BenchTime, Options};
use crate::Outcome;

/// The length of the longest name, for the columns to line up.
const NAME_WIDTH: usize = "BenchmarkWalkWritable/window=4KB/impl=mmap-io-2".len();

/// No row runs more often in one go: so it is in Go.
const MAX_ITERATIONS: u64 = 1_000_000_000;

pub struct Bench {
    opt: Options,
    suffix: String,
}

impl Bench {
    pub fn new(opt: Options) -> Bench {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let suffix = match cores {
            1 => String::new(),
            n => format!("-{n}"),
        };
        Bench { opt, suffix }
    }

    /// Calls `measure_all` for the row, if that is to run. An iteration moves so many bytes, which
    /// is 0 for a row without a throughput.
    pub fn row(
        &self,
        name: &str,
        bytes: usize,
        measure_all: impl FnOnce(&Row) -> Outcome,
    ) -> Outcome {
        if !self.opt.selects(name) {
            return Ok(());
        }
        let row = Row {
            bench: self,
            name,
            bytes,
        };
        measure_all(&row).map_err(|err| format!("{name}: {err}").into())
    }
}

/// A row is measured once for each implementation.
pub struct Row<'a> {
    bench: &'a Bench,
    name: &'a str,
    bytes: usize,
}

impl Row<'_> {
    /// Measures one implementation and prints the result. Before that, `op` runs once without
    /// being timed, to have its pages mapped and its files allocated.
    pub fn measure(&self, implementation: &str, mut op: impl FnMut() -> Outcome) -> Outcome {
        let suffix = &self.bench.suffix;
        let name = format!("Benchmark{}/impl={implementation}{suffix}", self.name);
        print!("{name:NAME_WIDTH$}\t");
        io::stdout().flush()?;
        op()?;
        let (n, took) = match self.bench.opt.benchtime {
            BenchTime::Iterations(n) => (n, time(n, &mut op)?),
            BenchTime::AtLeast(goal) => calibrate(goal, op)?,
        };
        println!("{}", figures(n, took, self.bytes));
        Ok(())
    }
}

/// Runs `op` more and more often until that takes as long as it should.
fn calibrate(goal: Duration, mut op: impl FnMut() -> Outcome) -> Outcome<(u64, Duration)> {
    let mut n = 1;
    loop {
        let took = time(n, &mut op)?;
        if took >= goal || n >= MAX_ITERATIONS {
            return Ok((n, took));
        }
        n = predict(goal, n, took);
    }
}

/// Says how often to run what took so long for `last` times. It is a fifth more than that asks
/// for, not to fall short by a little, and not too many if `last` was too short to go by.
fn predict(goal: Duration, last: u64, took: Duration) -> u64 {
    let n = goal.as_nanos() * u128::from(last) / took.as_nanos().max(1);
    let n = u64::try_from(n + n / 5).unwrap_or(u64::MAX);
    n.clamp(last + 1, 100 * last).min(MAX_ITERATIONS)
}

fn time(n: u64, op: &mut impl FnMut() -> Outcome) -> Outcome<Duration> {
    let start = Instant::now();
    for _ in 0..n {
        op()?;
    }
    Ok(start.elapsed())
}

fn figures(n: u64, took: Duration, bytes: usize) -> String {
    let ns = took.as_nanos() as f64 / n as f64;
    let mut text = format!("{n:8}\t{}", pretty(ns));
    if bytes > 0 && ns > 0.0 {
        // Bytes per nanosecond are thousands of megabytes per second.
        text += &format!("\t{:7.2} MB/s", bytes as f64 / ns * 1e3);
    }
    text
}

/// Prints four significant digits or more, with the decimal points of all lines in one column.
fn pretty(ns: f64) -> String {
    let digits = match ns {
        _ if ns == 0.0 || ns >= 999.95 => return format!("{ns:10.0} ns/op"),
        _ if ns >= 99.995 => 1,
        _ if ns >= 9.9995 => 2,
        _ if ns >= 0.99995 => 3,
        _ => 4,
    };
    format!("{ns:width$.digits$} ns/op", width = 11 + digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions() {
        let ms = Duration::from_millis;
        assert_eq!(predict(ms(100), 10, ms(20)), 60);
        assert_eq!(predict(ms(100), 1, Duration::ZERO), 100);
        assert_eq!(predict(ms(100), 100, ms(99)), 121);
        assert_eq!(predict(ms(100), 1, ms(99)), 2);
    }

    #[test]
    fn lines() {
        let us = Duration::from_micros;
        assert_eq!(figures(1000, us(56_610), 0), "    1000\t     56610 ns/op");
        assert_eq!(
            figures(100, us(12), 64),
            "     100\t       120.0 ns/op\t 533.33 MB/s"
        );
        assert_eq!(figures(1000, us(2), 0), "    1000\t         2.000 ns/op");
    }
}
