//go:build !race

package mmapfile_test

// ftRace says that the race detector is on: it slows down, and it allocates.
const ftRace = false
