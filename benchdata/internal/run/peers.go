package run

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// Peers runs the benchmarks of the comparison with Rust, here and there. Without cargo there are no results.
func Peers(ctx context.Context, args []string) (*results.Set, error) {
	flags, opt := newFlags("peers", 6, "20ms", "")
	flags.Parse(args)
	if _, err := exec.LookPath("cargo"); err != nil {
		// No user has to have it.
		fmt.Fprintln(os.Stderr, "nothing was measured: the comparison with Rust needs cargo, which is not in PATH (see https://rustup.rs)")
		return nil, nil
	}

	dir, err := scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	rust, err := buildRust(ctx, dir)
	if err != nil {
		return nil, err
	}
	binary, err := buildTest(ctx, dir, ".", "./internal/peers")
	if err != nil {
		return nil, err
	}
	lock, err := os.ReadFile("rust/Cargo.lock")
	if err != nil {
		return nil, err
	}
	return opt.runPrograms(ctx, dir, rustVersions(string(lock)),
		[]program{{path: binary, bench: "."}, {path: rust, bench: "."}})
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
