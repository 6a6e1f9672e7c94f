// Package peers has the benchmarks that rust/ has for the crates mmap-io and memmap2, as rows of the
// same names. It is nothing but benchmarks: "make bench-peers" runs them in turns with those in
// Rust, and by hand they are
//
//	go -C benchdata test ./internal/peers -run '^$' -bench Walk
//
// A name is Walk/window=4KB/impl=mmapfile. None of the rows measures os.File.
package peers
