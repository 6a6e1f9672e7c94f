// Package lab has the benchmarks that compare mmapfile with os.File, with other mappings in Go and
// with the bare copy. It is nothing but benchmarks: "make bench" and "make bench-full" run them in
// turns, and by hand they are
//
//	BENCH_DIR=/mnt/xfs go -C benchdata test ./internal/lab -run '^$' -bench Policy -impl '^(os|mmapfile)$'
//
// Those of v0.1.2 need -tags predecessor, and a registry that has this version.
//
// A benchmark's name is its row, as keys and values: Policy/state=sync-1KB/impl=mmapfile. The last
// key is the implementation: os, mmapfile, v0.1.2 (as it was published), exp (golang.org/x/exp/mmap),
// edsrzf (github.com/edsrzf/mmap-go), copy (no library, the limit) and os-again (os.File once more,
// the noise). What an implementation has no method for is no row of it.
//
// A row without a key "state" is of pages in memory that were used before. The states of a file
// that is read are hot; first, in memory but not in the mapping; and cold, not in memory.
package lab
