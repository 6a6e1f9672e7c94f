// Command first looks up records at random in a file that package os has opened, and in the same file opened by
// package mmapfile. It prints how long each took.
//
//	go run ./examples/first         a file of 64 MiB, which it makes and removes
//	go run ./examples/first FILE    a file of yours, which it only reads
package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"go.dw1.io/mmapfile"
)

const (
	recordSize = 64
	lookups    = 100      // records in a round: few, because each may wait for a disk
	passSize   = 64 << 20 // the size of the file that it makes, and how much it reads in order
)

// compare reads the file for about the time d. It returns what to print.
func compare(ctx context.Context, name string, d time.Duration) (report string, err error) {
	size, err := sizeOf(name)
	if err != nil {
		return "", err
	}
	before, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer before.Close()
	f, err := mmapfile.Open(name) // was: os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()

	fmt.Fprint(os.Stderr, "reading ")
	var text strings.Builder
	fmt.Fprintf(&text, "One lookup (ReadAt of %d bytes and its checksum) in %s, the file opened with:\n", recordSize, sizeText(size))
	if err := lookUpInTurns(ctx, &text, d, size, before, f, "mmapfile.Open"); err != nil {
		return "", err
	}
	if !mapped() {
		if err := promiseNoChange(ctx, &text, d, size, before); err != nil {
			return "", err
		}
	}

	fmt.Fprintf(&text, "One pass over %s in order (io.Copy to a checksum), the file opened with:\n", sizeText(min(size, passSize)))
	times, err := takeTurns(ctx, d/2, name,
		func(int) (uint32, error) { return readOnce(os.Open(name)) },
		func(int) (uint32, error) { return readOnce(mmapfile.Open(name)) })
	if err != nil {
		return "", err
	}
	printTimes(&text, times, 1, "mmapfile.Open")
	fmt.Fprintln(&text, "Expect no gain for a file that is read once in order: it may cost more.")
	fmt.Fprintln(&text, "What gains is small reads of a mapped file, at pages that are in memory.")
	fmt.Fprintln(&text, "The README's headline times a ReadAt alone, of bytes that stay in the CPU's cache. A lookup here includes")
	fmt.Fprintln(&text, "a checksum, and most records come from main memory, so it gains less.")
	return text.String(), nil
}

// lookUp reads records at random, other ones in each round.
func lookUp(f file, size int64, round int) (sum uint32, err error) {
	places := rand.New(rand.NewPCG(1, uint64(round)))
	record := make([]byte, recordSize)
	for range lookups {
		if _, err := f.ReadAt(record, places.Int64N(size/recordSize)*recordSize); err == io.EOF {
			return 0, fmt.Errorf("%s has become shorter", f.Name())
		} else if err != nil {
			return 0, err
		}
		sum = crc32.Update(sum, crc32.IEEETable, record)
	}
	return sum, nil
}
