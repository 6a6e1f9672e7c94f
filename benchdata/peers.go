package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// peerBenchmarks are those of the comparison with Rust, of which none measures os.File.
const peerBenchmarks = "Walk|WalkWritable|Stride|SumBytes|ReadInto|RandomRead|RandomWindow|RandomView|" +
	"TouchPages|SyncRange|AtomicAdd|WritePolicy|Grow"

// goPeerBenchmarks has these names whole; the program in Rust takes a plain list, of substrings.
const goPeerBenchmarks = "^Benchmark(" + peerBenchmarks + ")$"

// measurePeers runs the benchmarks of the comparison with Rust, here and there.
func measurePeers(ctx context.Context, args []string) error {
	var opt options
	opt.newFlags("peers", "peers.txt").Parse(args)
	if _, err := exec.LookPath("cargo"); err != nil {
		// Nobody has to have it.
		fmt.Fprintln(os.Stderr, "nothing was measured: the comparison with Rust needs cargo, which is not in PATH (see https://rustup.rs)")
		return nil
	}

	dir, err := scratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	rust, err := buildRust(ctx, dir)
	if err != nil {
		return err
	}
	binary := filepath.Join(dir, "peers.exe")
	if err := build(ctx, "test", "-c", "-o", binary, "./internal/peers"); err != nil {
		return err
	}
	lock, err := os.ReadFile("rust/Cargo.lock")
	if err != nil {
		return err
	}
	res, err := keep(ctx, dir, opt, rustVersions(string(lock)),
		program{path: binary, bench: goPeerBenchmarks}, program{path: rust, bench: peerBenchmarks})
	if err != nil {
		return err
	}
	if err := reportPeers(os.Stdout, res); err != nil {
		return err
	}
	fmt.Printf("\nRaw results: benchdata/%s\n", opt.out)
	return nil
}

func buildRust(ctx context.Context, dir string) (string, error) {
	target := filepath.Join(dir, "target")
	fmt.Fprintln(os.Stderr, "building rust")
	err := tool(ctx, os.Stderr, "cargo", "build", "--quiet", "--release", "--locked",
		"--manifest-path", "rust/Cargo.toml", "--target-dir", target)
	return filepath.Join(target, "release", "peers"), err
}

// rustVersions are those of the compiler and of the crates.
func rustVersions(lock string) [][2]string {
	return [][2]string{
		{"rustc", strings.TrimPrefix(output("rustc", "--version"), "rustc ")},
		{"mmap-io", crateVersion(lock, "mmap-io")},
		{"memmap2", crateVersion(lock, "memmap2")},
	}
}

// crateVersion is the version of a crate in the text of a Cargo.lock.
func crateVersion(lock, crate string) string {
	_, rest, _ := strings.Cut(lock, fmt.Sprintf("name = %q\nversion = \"", crate))
	version, _, _ := strings.Cut(rest, `"`)
	return version
}

// ofPeers says whether these are the results of a comparison with Rust.
func (res *results) ofPeers() bool {
	for _, impls := range res.times {
		if impls["mmap-io"] != nil || impls["memmap2"] != nil {
			return true
		}
	}
	return false
}

// peerLine is a line of the tables: the medians, and mmapfile's relative to the others.
func peerLine(res *results, row string) []string {
	// The peers guard no slices: those that mmapfile guards have the same counterparts as the others.
	peerRow := strings.Replace(row, "RandomView/", "RandomWindow/", 1)
	own := res.median(row, "mmapfile")
	line := []string{duration(own)}
	var ratios []string
	for _, impl := range []string{"mmap-io", "memmap2"} {
		peer, ratio := res.median(peerRow, impl), 0.0
		if peer > 0 {
			ratio = own / peer
		}
		line, ratios = append(line, duration(peer)), append(ratios, number(ratio))
	}
	return append(line, ratios...)
}

// reportPeers prints all rows.
func reportPeers(out io.Writer, res *results) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nbeside Rust\tmmapfile\tmmap-io\tmemmap2\tmmapfile / mmap-io\tmmapfile / memmap2\n")
	for _, row := range res.rows {
		fmt.Fprintf(w, "%s\t%s\n", row, strings.Join(peerLine(res, row), "\t"))
	}
	return w.Flush()
}
