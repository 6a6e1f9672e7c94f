//! The command line.

use std::time::Duration;

/// How long a row is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BenchTime {
    AtLeast(Duration),
    Iterations(u64),
}

pub struct Options {
    bench: String,
    skip: String,
    pub benchtime: BenchTime,
}

impl Options {
    pub fn parse(args: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut opt = Options {
            bench: ".".into(),
            skip: String::new(),
            benchtime: BenchTime::AtLeast(Duration::from_secs(1)),
        };
        for arg in args {
            let (flag, value) = arg.split_once('=').unwrap_or((&arg, ""));
            match flag {
                "-test.bench" => opt.bench = value.into(),
                "-test.skip" => opt.skip = value.into(),
                "-test.benchtime" => opt.benchtime = parse_benchtime(value)?,
                "-test.run" => {} // selects tests, and there are none
                _ => return Err(format!("unknown flag: {arg}")),
            }
        }
        Ok(opt)
    }

    /// Says whether the row is to run that has this name, as in "Walk/window=4KB".
    pub fn selects(&self, row: &str) -> bool {
        matches(&self.bench, row) && !matches(&self.skip, row)
    }
}

fn parse_benchtime(value: &str) -> Result<BenchTime, String> {
    parse_iterations(value)
        .or_else(|| parse_duration(value))
        .ok_or_else(|| format!("-test.benchtime={value}: want something like 50ms, 1s or 3x"))
}

fn parse_iterations(value: &str) -> Option<BenchTime> {
    let n = value.strip_suffix('x')?.parse().ok()?;
    (n > 0).then_some(BenchTime::Iterations(n))
}

fn parse_duration(value: &str) -> Option<BenchTime> {
    // "ms" first: it ends in "s" too.
    let (number, unit) = match value.strip_suffix("ms") {
        Some(number) => (number, 1e-3),
        None => (value.strip_suffix('s')?, 1.0),
    };
    let seconds = number.parse::<f64>().ok()? * unit;
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    (!time.is_zero()).then_some(BenchTime::AtLeast(time))
}

/// Stands in for a match of a regular expression. An empty one matches nothing, as in -test.bench.
fn matches(pattern: &str, row: &str) -> bool {
    top_level_pieces(pattern).any(|piece| {
        let piece = piece.trim_start_matches('^').trim_end_matches('$');
        piece == "." || !piece.is_empty() && row.contains(piece)
    })
}

/// Splits at each `|` that is in no parentheses.
fn top_level_pieces(pattern: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    pattern.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == '|' && depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, row, want) in [
            (".", "Grow", true),
            ("", "Grow", false),
            ("^$", "Grow", false),
            ("^Grow$", "Grow", true),
            ("Sum|Grow", "Grow", true),
            ("Walk/window=4KB", "Walk/window=4KB", true),
            ("Walk/window=4KB", "Walk/window=64KB", false),
            ("/size=(4KB|Grow)$|Sum", "Grow", false),
        ] {
            assert_eq!(matches(pattern, row), want, "{pattern:?} {row}");
        }
    }

    #[test]
    fn benchtimes() {
        let ms = |n| Ok(BenchTime::AtLeast(Duration::from_millis(n)));
        assert_eq!(parse_benchtime("50ms"), ms(50));
        assert_eq!(parse_benchtime("1s"), ms(1000));
        assert_eq!(parse_benchtime("3x"), Ok(BenchTime::Iterations(3)));
        for bad in ["", "0x", "0s", "-1s", "1", "x", "1h", "nans"] {
            assert!(parse_benchtime(bad).is_err(), "{bad:?}");
        }
    }
}
