// Package needle looks for the first byte of a file that is not zero, in many ways: those of an
// experiment that was published, and those of mmapfile.
package needle

import (
	"context"
	"errors"
	"os"
	"strings"
)

// Way is one way to search.
type Way struct {
	Name string // as in the raw results
	What string // as in the tables

	// Parallel says that the search uses its workers. The other ways ignore them.
	Parallel bool
	// Find is the offset of the first byte of the file that is not zero, -1 if there is none.
	Find Search
	// Open is for a way that measures no opening: what it returns does the search, until it is
	// closed. Nothing is measured then on a file that is not in memory: the system keeps the pages
	// of what is mapped.
	Open opener
	// Missing says why the way is not there in this build or on this machine.
	Missing string
	// Note says what is not as the name has it.
	Note string
}

// Search opens the file, looks for the first byte that is not zero, and closes the file.
type Search func(path string, workers int) (off int64, err error)

// opener opens the file for searches.
type opener func(path string) (find func(workers int) (int64, error), closeFile func() error, err error)

// Ways are all of them; the others are measured against the first. The last one reads no file: it
// is what the machine can do.
func Ways() []Way {
	ways := []Way{
		{Name: "readfile-bytes", What: "`os.ReadFile`, byte by byte", Find: readFileBytes},
		{Name: "bufio-bytes", What: "`bufio.Reader`, byte by byte", Find: bufioBytes},
		{Name: "chunk-bytes", What: "`Read` in chunks, byte by byte", Find: inChunks(indexBytes)},
		{Name: "chunk-words", What: "`Read` in chunks, words", Find: inChunks(indexWords)},
		{Name: "chunk-blocks", What: "`Read` in chunks, eight words a step", Find: inChunks(indexBlocks)},
		{Name: "mmap-words", What: "mmap, words", Find: mapped(indexWords, 0)},
		{Name: "mmap-advise", What: "mmap and madvise, eight words a step", Find: mapped(indexBlocks, advise)},
		{Name: "mmap-parallel", What: "mmap, eight words a step, in parallel", Find: mappedParallel(indexBlocks), Parallel: true},
		{Name: "pread-parallel", What: "pread, eight words a step, in parallel", Find: preadParallel(indexBlocks), Parallel: true},
		{Name: "mmap-avx2", What: "mmap, AVX2 in assembler", Find: mapped(inPieces(indexAVX2), 0), Note: noteAVX2},
		{Name: "mmap-populate", What: "mmap with `MAP_POPULATE`, eight words a step", Find: mapped(indexBlocks, populate), Missing: missingPopulate},
		{Name: "chunk-simd", What: "`Read` in chunks, `simd/archsimd`", Find: inChunks(indexSIMD), Missing: missingSIMD},
		{Name: "pread-simd", What: "pread, `simd/archsimd`, in parallel", Find: preadParallel(indexSIMD), Parallel: true, Missing: missingSIMD},
	}
	for i, w := range ways {
		if strings.HasPrefix(w.Name, "mmap-") && w.Missing == "" {
			ways[i].Missing = missingMmap
		}
	}
	return append(ways,
		Way{Name: "scan", What: "`scan`, with opening and mapping", Find: opened(library(scanIndexNot)), Parallel: true},
		Way{Name: "scan-warm", What: "`scan`, mapped before", Open: library(mappedFirst(scanIndexNot)), Parallel: true},
		Way{Name: "memory", What: "the machine: memory, eight words a step, in parallel", Open: memory(indexBlocks), Parallel: true})
}

// The needle has no byte of zero, so that the first of its bytes is found.
const word = "\xa1\xb2\xc3\xd4\xe5\xf6\x17\x28"

// WordSize is the size of the needle.
const WordSize = len(word)

// WriteFile makes a file of zeros, really written, with the needle at its end.
func WriteFile(ctx context.Context, path string, size int64) error {
	if size < int64(WordSize) {
		return errors.New("no room for the needle")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	zeros := make([]byte, 1<<20)
	for off := int64(0); off < size && err == nil; off += int64(len(zeros)) {
		_, err = f.Write(zeros[:min(int64(len(zeros)), size-off)])
		err = errors.Join(err, ctx.Err())
	}
	if err == nil {
		_, err = f.WriteAt([]byte(word), size-int64(WordSize))
	}
	return errors.Join(err, f.Sync(), f.Close())
}
