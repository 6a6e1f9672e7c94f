//! Measures the crates mmap-io and memmap2, as peers of the Go package mmapfile.
//!
//! The program is called as a Go test binary is, and prints its results in the format of Go
//! benchmarks, for benchstat to put both in one table:
//!
//! ```text
//! peers [-test.bench=REGEXP] [-test.skip=REGEXP] [-test.benchtime=50ms|1s|3x] [-test.run=REGEXP]
//! ```
//!
//! A REGEXP is `.` for all rows, or substrings of their names with `|` between them, where `^` and
//! `$` around a substring are ignored; -test.run selects nothing here. The files go into a
//! directory of their own below $BENCH_DIR, or else below the one for temporary files, and are
//! removed in the end.

mod args;
mod bench;
mod files;
mod rows;

use std::error::Error;
use std::process::ExitCode;

use args::Options;
use bench::Bench;
use files::Scratch;

/// What everything here returns that can fail.
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let opt = match Options::parse(std::env::args().skip(1)) {
        Ok(opt) => opt,
        Err(err) => {
            eprintln!("peers: {err}");
            return ExitCode::from(2);
        }
    };
    match run(opt) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("peers: {err}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the selected rows. The files are gone when it returns, whatever it returns.
fn run(opt: Options) -> Outcome {
    let scratch = Scratch::new()?;
    rows::all(&Bench::new(opt), &scratch)
}
