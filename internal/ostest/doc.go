// Package ostest compares File with os.File from outside: the same calls, programs and processes
// must get the same from both. It has only tests.
//
//   - parity_*_test.go and fuzz_*_test.go: sequences of calls, written down and random
//   - programs_*_test.go and dirfs_*_test.go: what other packages do with files
//   - truncated_*_test.go and foreign_*_test.go: files that another handle or process changes
package ostest
