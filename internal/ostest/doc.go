// Package ostest tests File from outside: the same calls, programs and processes must get the same
// from it and from os.File, and what os.File lacks keeps its promises. It has only tests.
//
//   - parity_*_test.go and fuzz_*_test.go: sequences of calls, written down and random
//   - programs_*_test.go and dirfs_*_test.go: what other packages do with files
//   - truncated_*_test.go and foreign_*_test.go: files that another handle or process changes
//   - the others are named after the file of the root whose calls they test
package ostest
