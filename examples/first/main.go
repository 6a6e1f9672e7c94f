// Command first reads records at random from a file that package os has opened, and from the same file opened
// by package mmapfile. It prints how long each took.
//
//	go run ./examples/first         a file of 64 MiB, which it makes and removes
//	go run ./examples/first FILE    a file of yours, which it only reads
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"go.dw1.io/mmapfile"
)

const (
	recordSize = 64
	lookups    = 10_000   // records in a round
	passSize   = 64 << 20 // the size of the file that it makes, and how much it reads in order
)

func main() {
	flag.Usage = func() { fmt.Fprintln(flag.CommandLine.Output(), "usage: first [FILE]") }
	flag.Parse()
	if flag.NArg() > 1 {
		flag.Usage()
		os.Exit(2)
	}
	// After an interrupt, compare returns, and has removed what it made.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	report, err := compare(ctx, flag.Arg(0), 1500*time.Millisecond)
	stop()
	fmt.Fprintln(os.Stderr) // ends the line of dots
	if err != nil {
		fmt.Fprintln(os.Stderr, "first:", err)
		os.Exit(1)
	}
	fmt.Print(report)
}

// compare reads the file, or one that it makes if name is empty, for about the time d. It returns what to print.
func compare(ctx context.Context, name string, d time.Duration) (report string, err error) {
	if name == "" {
		if name, err = makeFile(ctx); err != nil {
			return "", err
		}
		defer os.Remove(name)
	}
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

	fmt.Fprint(os.Stderr, " reading ")
	var text strings.Builder
	fmt.Fprintf(&text, "Records of %d bytes, at random in %s. The mean time of each:\n", recordSize, sizeText(size))
	if err := lookUpInTurns(ctx, &text, d, before, f, size); err != nil {
		return "", err
	}
	var stats mmapfile.Stats
	if mmapfile.ReadStats(&stats); stats.MappedFiles == 0 {
		fmt.Fprintln(&text, "The file was not mapped; docs/compatibility.md says when. The same with the promise that it does not change:")
		f, err := mmapfile.Options{Immutable: true}.OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			return "", err
		}
		defer f.Close()
		if err := lookUpInTurns(ctx, &text, d, before, f, size); err != nil {
			return "", err
		}
	}

	fmt.Fprintf(&text, "%s in order, with io.Copy. The mean time of a pass:\n", sizeText(min(size, passSize)))
	times, rounds, err := takeTurns(ctx, d/4,
		func(int) (uint32, error) { return readOnce(os.Open(name)) },
		func(int) (uint32, error) { return readOnce(mmapfile.Open(name)) })
	if err != nil {
		return "", err
	}
	printTimes(&text, times, rounds, 10*time.Microsecond)
	fmt.Fprintln(&text, "A file that is read once costs about the same. What gains is small reads of pages that were read before.")
	return text.String(), nil
}

// lookUpInTurns compares before and f, and prints the times.
func lookUpInTurns(ctx context.Context, w io.Writer, d time.Duration, before, f io.ReaderAt, size int64) error {
	times, rounds, err := takeTurns(ctx, d,
		func(round int) (uint32, error) { return lookUp(ctx, before, size, round) },
		func(round int) (uint32, error) { return lookUp(ctx, f, size, round) })
	if err == nil {
		printTimes(w, times, rounds*lookups, time.Nanosecond)
	}
	return err
}

// takeTurns calls both functions in rounds, until they have taken the time d. They return a checksum of what they
// read, which must be the same.
func takeTurns(ctx context.Context, d time.Duration, both ...func(round int) (uint32, error)) (times [2]time.Duration, rounds int, err error) {
	for dots := d / 10; rounds == 0 || times[0]+times[1] < d; rounds++ {
		var sums [2]uint32
		for i := range both {
			i = (i + rounds) % 2 // each is the first one in its turn
			began := time.Now()
			if sums[i], err = both[i](rounds); err != nil {
				return times, rounds, err
			}
			times[i] += time.Since(began)
		}
		if ctx.Err() != nil {
			return times, rounds, context.Cause(ctx)
		}
		if sums[0] != sums[1] {
			return times, rounds, errors.New("os.File and mmapfile.File read different bytes: does another program write to the file?")
		}
		for ; dots <= times[0]+times[1]; dots += d / 10 {
			fmt.Fprint(os.Stderr, ".")
		}
	}
	return times, rounds, nil
}

// lookUp reads records at random.
func lookUp(ctx context.Context, f io.ReaderAt, size int64, round int) (sum uint32, err error) {
	places := rand.New(rand.NewPCG(1, uint64(round)))
	record := make([]byte, recordSize)
	for range lookups {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if _, err := f.ReadAt(record, places.Int64N(size/recordSize)*recordSize); err != nil {
			return 0, err
		}
		sum = crc32.Update(sum, crc32.IEEETable, record)
	}
	return sum, nil
}

// readOnce reads f from its start, and closes it.
func readOnce(f io.ReadCloser, err error) (sum uint32, _ error) {
	if err != nil {
		return 0, err
	}
	defer f.Close()
	hash := crc32.NewIEEE()
	_, err = io.Copy(hash, io.LimitReader(f, passSize)) // the limit is for a long FILE
	return hash.Sum32(), err
}

// printTimes prints the mean times of n operations.
func printTimes(w io.Writer, times [2]time.Duration, n int, unit time.Duration) {
	before, after := times[0]/time.Duration(n), times[1]/time.Duration(n)
	fmt.Fprintf(w, "  os.Open        %8v\n", before.Round(unit))
	fmt.Fprintf(w, "  mmapfile.Open  %8v   %.2f times as fast\n", after.Round(unit), float64(before)/float64(after))
}

func sizeText(n int64) string {
	if n < 1<<20 {
		return fmt.Sprint(n, " bytes")
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// sizeOf returns the size of a file that has a record at least. It opens nothing: opening a pipe would wait.
func sizeOf(name string) (int64, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return 0, err
	case info.IsDir():
		return 0, fmt.Errorf("%s is a directory", name)
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%s is not a regular file", name)
	case info.Size() < recordSize:
		return 0, fmt.Errorf("%s has %d bytes, and a record has %d", name, info.Size(), recordSize)
	}
	return info.Size(), nil
}

// makeFile makes a file in the temporary directory, and returns its name.
func makeFile(ctx context.Context) (name string, err error) {
	f, err := os.CreateTemp("", "mmapfile-first-")
	if err != nil {
		return "", err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(f.Name())
		}
	}()
	fmt.Fprintf(os.Stderr, "making %s (%d MiB) ", f.Name(), passSize>>20)
	random, block := rand.NewChaCha8([32]byte{}), make([]byte, 1<<20)
	for n := 0; n < passSize; n += len(block) {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		random.Read(block)
		if _, err := f.Write(block); err != nil {
			return "", err
		}
		if n%(passSize/8) == 0 {
			fmt.Fprint(os.Stderr, ".")
		}
	}
	return f.Name(), nil
}
