package scan_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/scan"
)

// example creates a file with that content.
func example(content string) (f *mmapfile.File, remove func()) {
	dir, err := os.MkdirTemp("", "scan")
	if err != nil {
		log.Fatal(err)
	}
	name := filepath.Join(dir, "data")
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		log.Fatal(err)
	}
	f, err = mmapfile.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	return f, func() { f.Close(); os.RemoveAll(dir) }
}

// The first byte that is not zero.
func ExampleIndexNot() {
	f, remove := example(string(make([]byte, 100_000)) + "needle")
	defer remove()

	off, err := scan.IndexNot(context.Background(), f, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(off)
	// Output: 100000
}

// The number of lines.
func ExampleCount() {
	f, remove := example("one\ntwo\nthree\n")
	defer remove()

	n, err := scan.Count(context.Background(), f, []byte("\n"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n)
	// Output: 3
}

func ExampleAll() {
	f, remove := example("one fish two fish red fish")
	defer remove()

	for off, err := range scan.All(context.Background(), f, []byte("fish")) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(off)
	}
	// Output:
	// 4
	// 13
	// 22
}

func ExampleLines() {
	f, remove := example("one\ntwo\nthree")
	defer remove()

	for line, err := range scan.Lines(context.Background(), f) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("line %d at %d: %q\n", line.Number, line.Offset, line.Text)
	}
	// Output:
	// line 1 at 0: "one\n"
	// line 2 at 4: "two\n"
	// line 3 at 8: "three"
}

// The first line with an id of four digits. No match is longer than 7 bytes.
func ExampleRegexp() {
	f, remove := example("id=17\nid=4711\nid=8\n")
	defer remove()

	id := regexp.MustCompile(`(?m)^id=[0-9]{4}$`)
	start, end, err := scan.Regexp(context.Background(), f, id, 7)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(start, end)
	// Output: 6 13
}

// The first of several words, of which none is longer than 5 bytes.
func ExampleFind() {
	f, remove := example("the quick brown fox jumps over the lazy dog")
	defer remove()

	words := [][]byte{[]byte("dog"), []byte("jumps"), []byte("fox")}
	start, end, err := scan.Find(context.Background(), f, 5, func(p []byte) (start, end int) {
		start = -1
		for _, w := range words {
			if i := bytes.Index(p, w); i >= 0 && (start < 0 || i < start) {
				start, end = i, i+len(w)
			}
		}
		return start, end
	})
	if err != nil {
		log.Fatal(err)
	}
	word := make([]byte, end-start)
	if _, err := f.ReadAt(word, start); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s at %d\n", word, start)
	// Output: fox at 16
}

// Each call counts the words that start in its piece.
func ExampleForEach() {
	f, remove := example("the quick brown fox jumps over the lazy dog")
	defer remove()

	var words atomic.Int64
	s := scan.Scanner{Chunk: 10} // small, for the example
	err := s.ForEach(context.Background(), f, func(off int64, p []byte) error {
		n := int64(len(bytes.Fields(p)))
		before := []byte{' '}
		if off > 0 {
			if _, err := f.ReadAt(before, off-1); err != nil {
				return err
			}
		}
		if before[0] != ' ' && p[0] != ' ' {
			n-- // it started in the previous piece
		}
		words.Add(n)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(words.Load())
	// Output: 9
}

// With one worker the pieces come in order, as a checksum requires.
func ExampleScanner_ForEach() {
	f, remove := example("123456789")
	defer remove()

	var sum uint32
	s := scan.Scanner{Workers: 1}
	err := s.ForEach(context.Background(), f, func(_ int64, p []byte) error {
		sum = crc32.Update(sum, crc32.IEEETable, p)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%08x\n", sum)
	// Output: cbf43926
}
