package cold

import (
	"fmt"
	"os"
)

// Places of files.
const (
	OnDisk  = "disk"  // the directory of the data
	OnLoop  = "loop"  // a file system on a loop device that reads LoopReadAhead ahead
	OnTmpfs = "tmpfs" // /dev/shm
)

// LoopReadAhead is what the kernel reads ahead on the loop device: its default for disks, in KiB.
const LoopReadAhead = 128

// Memory of the control group of a row.
const (
	NoGroup = 0
	NoLimit = -1 // a group that has all memory, and can be told to evict pages
)

// TickReads is how many reads a second a throttled disk serves.
const TickReads = 300

// Row is one measurement, and a line of the page for each of its figures.
type Row struct {
	Key, What string
	Place     string // OnDisk if empty
	Size      int64  // of the file
	Piece     int64  // the work makes its file itself, in writes of so many bytes
	Events    bool   // instead of a file it has a directory of events
	Memory    int64  // of its control group
	Throttled bool   // its disk serves TickReads a second
	// Drops is whether the file is dropped from the page cache and read back. The first to do that waits for
	// the host's disk, too, so it is not counted.
	Drops   bool
	Impls   []string // in turns
	Figures []string // what they are called, if there are several
	Base    string   // the row whose time with os.File is that to compare with; empty: this one
	Long    int      // how many times as long as others it takes
	do      func(w *Work) ([]Figure, error)
}

// Section is a part of the page.
type Section struct {
	Title, Text string
	Rows        []Row
}

const mb = 1 << 20

var withMapping = []string{OS, Mmapfile, Mapping, OSAgain}

// Sections are all rows, in the order of the page.
func Sections() []Section {
	return []Section{
		{"In order, not in memory", "A file of 256 MiB, dropped from the page cache.", orderRows()},
		{"Scattered reads, not in memory", "256 × 4 KiB anywhere in 256 MiB.", scatteredRows()},
		{"Beside a bare mapping", "A pass over 256 MiB: 200 × `ReadAt` 4 KiB anywhere, or all of it in order in calls of 4 KiB.", passRows()},
		{"Larger than memory", "Reads of 1 KiB by Zipf's distribution from 2 GiB, in a memory cgroup of 512 MiB. The hottest pages are in memory at first. " +
			"The time is that of a read, with the goroutines side by side.", zipfRows()},
		{"A ticker beside a slow disk", fmt.Sprintf("A ticker fires every 5 ms while 16 goroutines read 4 KiB at random, and the table says how late it is. "+
			"The file is not in memory, except for 4 MiB of it. The disk serves %d reads a second; GOMAXPROCS is 2.", TickReads), tickerRows()},
		{"The size of the file", "Reads of 1 KiB by Zipf's distribution, with one goroutine and a memory cgroup of 128 MiB. A file that is larger than that does not fit. In the picture, a bar reaches from the slowest round to the fastest.\n\n![Reads a second by the size of the file](charts/memory.svg)", sizeRows()},
		{"A little larger than memory", "A memory cgroup of 128 MiB, which has all memory in the last row. The time is that of a read, with the goroutines side by side.", littleLargerRows()},
		{"Events, not in memory", "128 MiB of events of 1 KiB. With `os.File`: reading their bytes in order in calls of 64 KiB, with their checksum.", eventRows()},
		{"In memory, and read once", "A time is that from opening the file to closing it.", lifeRows()},
		{"tmpfs", "Files in `/dev/shm`. The time is that of a read.", tmpfsRows()},
	}
}

// Rows are those of all sections.
func Rows() (all []Row) {
	for _, s := range Sections() {
		all = append(all, s.Rows...)
	}
	for i := range all {
		if all[i].Impls == nil {
			all[i].Impls = []string{OS, Mmapfile, OSAgain}
		}
	}
	return all
}

func orderRows() (rows []Row) {
	for _, c := range []struct {
		name, what string
		read       pass
	}{
		{"read-4KB", "`Read` 4 KiB", readBlocks(4 << 10)},
		{"read-64KB", "`Read` 64 KiB", readBlocks(64 << 10)},
		{"scanner", "`bufio.Scanner`", scanLines},
		{"copy", "`io.Copy` to a plain `Writer`", copyToWriter},
	} {
		rows = append(rows, onBoth(Row{Key: "order/device=%s/call=" + c.name, What: c.what, Size: 256 * mb, Drops: true, do: dropped(c.read)})...)
	}
	return append(rows,
		Row{Key: "order/device=disk/memory=64MB/call=read-4KB", What: "`Read` 4 KiB, in a memory cgroup of 64 MiB", Size: 256 * mb, Memory: 64 * mb, Drops: true, do: dropped(readBlocks(4 << 10))},
		Row{Key: "scan", What: "`scan.Count`, against four goroutines that `pread` 1 MiB", Size: 256 * mb, Drops: true, do: dropped(countLines)})
}

// onBoth has a row on the disk, and on the device that reads little ahead. Its key has a place for that.
func onBoth(r Row) []Row {
	key, loop := r.Key, r
	r.Key = fmt.Sprintf(key, OnDisk)
	loop.Key, loop.Place = fmt.Sprintf(key, OnLoop), OnLoop
	loop.What += fmt.Sprintf(", device that reads %d KiB ahead", LoopReadAhead)
	return []Row{r, loop}
}

func scatteredRows() []Row {
	return []Row{
		{Key: "scattered/how=one", What: "one by one", Size: 256 * mb, Drops: true, do: dropped(scattered(1))},
		{Key: "scattered/how=16-goroutines", What: "16 goroutines", Size: 256 * mb, Drops: true, do: dropped(scattered(16))},
		{Key: "scattered/how=advised", What: "each advised with `WillNeed`, and then read; against `os.File` one by one",
			Size: 256 * mb, Drops: true, Base: "scattered/how=one", do: dropped(readAdvised)},
		{Key: "advise-in-memory", What: "`Advise` with `WillNeed` of 4 KiB in memory, against `posix_fadvise`", Size: 64 * mb, do: adviseInMemory},
	}
}

func passRows() []Row {
	return []Row{
		{Key: "dropped-random", What: "dropped from the page cache before it was opened, anywhere", Size: 256 * mb, Drops: true, Impls: withMapping, do: dropped(anywhere(200))},
		{Key: "dropped-order", What: "the same, in order", Size: 256 * mb, Drops: true, Impls: withMapping, do: dropped(inOrder)},
		{Key: "evicted-random", What: "read often, then evicted by the kernel, while open, anywhere", Size: 256 * mb, Memory: NoLimit, Impls: withMapping, do: evicted(anywhere(200))},
		{Key: "evicted-order", What: "the same, in order", Size: 256 * mb, Memory: NoLimit, Impls: withMapping, do: evicted(inOrder)},
	}
}

func zipfRows() (rows []Row) {
	for _, n := range []int{1, 4} {
		rows = append(rows, Row{Key: fmt.Sprint("larger/goroutines=", n), What: fmt.Sprint("goroutines: ", n), Size: 2048 * mb, Memory: 512 * mb,
			Impls: withMapping, Figures: []string{"read", "p99"}, Long: 3, do: zipf(n)})
	}
	return rows
}

func tickerRows() []Row {
	row := Row{Size: 2048 * mb, Throttled: true, Figures: []string{"p50", "p99", "max"}, Long: 3}
	read, view, populate := row, row, row
	read.Key, read.What, read.Impls, read.do = "ticker", "`ReadAt`", withMapping, ticker(file.ReadAt)
	view.Key, view.What, view.Impls, view.do = "ticker-view", "`View`, against `ReadAt`", []string{Mmapfile}, ticker(readView)
	populate.Key, populate.What, populate.Impls, populate.do = "ticker-populate", "`Advise(PopulateRead)`, against `ReadAt`", []string{Mmapfile}, ticker(populateRead)
	view.Base, populate.Base = read.Key, read.Key
	return []Row{read, view, populate}
}

// SizePercents are the sizes of the files of the picture, in percent of the memory.
var SizePercents = []int{25, 50, 75, 100, 125, 150, 200, 300, 400}

// SizeRows is what the keys of these rows begin with.
const SizeRows = "sweep/"

// SizeKey is the row of a file whose size is so many percent of the memory. Its figure is "read".
func SizeKey(percent int) string { return fmt.Sprintf("%spercent=%d", SizeRows, percent) }

func sizeRows() (rows []Row) {
	const memory = 128 * mb
	for _, percent := range SizePercents {
		rows = append(rows, Row{Key: SizeKey(percent), What: fmt.Sprintf("size / memory: %.4g", float64(percent)/100),
			Size: int64(memory) * int64(percent) / 100, Memory: memory, Impls: withMapping, Figures: []string{"read"}, do: zipf(1)})
	}
	return rows
}

func littleLargerRows() (rows []Row) {
	const (
		memory = 128 * mb
		long   = 10 // each page is read several times
	)
	for _, n := range []int{1, 4, 16} {
		rows = append(rows, Row{Key: fmt.Sprint("slightly-larger/goroutines=", n), What: fmt.Sprint("`ReadAt` 4 KiB anywhere in 160 MiB, goroutines: ", n),
			Size: memory * 5 / 4, Memory: memory, Long: long, do: uniform(n)})
	}
	// A page fault in an evicted page reads as much around it as the device reads ahead.
	loop := rows[len(rows)-1]
	loop.Key, loop.Place = "slightly-larger/device=loop/goroutines=16", OnLoop
	loop.What += fmt.Sprintf(", device that reads %d KiB ahead", LoopReadAhead)
	return append(rows, loop,
		Row{Key: "evicted-while-hot", What: "16 MiB evicted while `ReadAt` 4 KiB is hot: time until it is back at the rate of `os.File`", Size: 16 * mb, Memory: NoLimit, do: evictedBack})
}

func eventRows() []Row {
	read := Row{Key: "events-read/device=%s", What: "`Events` over a stream", Events: true, Drops: true, do: readEvents}
	open := Row{Key: "events-recover/device=%s", What: "open a log that a crash has left", Events: true, Drops: true, do: recoverLog}
	short := onBoth(read)[0]
	short.Key, short.Memory = short.Key+"/memory=64MB", 64*mb
	short.What += ", in a memory cgroup of 64 MiB"
	return append(append(onBoth(read), onBoth(open)...), short)
}

// folios are sizes of writes, and what they make of the page cache.
var folios = []struct {
	piece      int64
	name, what string
}{{4 << 10, "small", "written in pieces of 4 KiB"}, {1 << 20, "large", "written in pieces of 1 MiB, which makes large folios"}}

func lifeRows() (rows []Row) {
	for _, n := range []int{0, 1, 32, 64, 96, 128, 200, 400, 1000} {
		what := fmt.Sprintf("%d × `ReadAt` 64 B anywhere in 64 KiB", n)
		if n == 0 {
			what = "open and close"
		}
		rows = append(rows, Row{Key: fmt.Sprint("life/reads=", n), What: what, Size: 64 << 10, do: life(readAnywhere(n))})
	}
	for _, n := range []int{500, 1000, 2000} {
		rows = append(rows, Row{Key: fmt.Sprint("first/reads=", n), What: fmt.Sprintf("%d × `ReadAt` 64 B anywhere in 64 MiB", n), Size: 64 * mb, do: life(readAnywhere(n))})
	}
	for _, folio := range folios {
		for _, kb := range []int{8, 16, 32} {
			rows = append(rows, Row{Key: fmt.Sprintf("pass/folios=%s/call=%dKB", folio.name, kb), What: fmt.Sprintf("`Read` %d KiB through 20 MiB, %s", kb, folio.what),
				Size: 20 * mb, Piece: folio.piece, do: life(readBlocks(kb << 10))})
		}
		rows = append(rows, Row{Key: "laps/folios=" + folio.name, What: "`ReadAt` 64 B in each 64 KiB of 64 MiB, six times, " + folio.what,
			Size: 64 * mb, Piece: folio.piece, do: life(readLaps)})
	}
	return rows
}

func tmpfsRows() (rows []Row) {
	for _, size := range []int64{1, 64} {
		for _, n := range []int{64, 4 << 10} {
			what := "64 B"
			if n > 64 {
				what = "4 KiB"
			}
			rows = append(rows, Row{Key: fmt.Sprintf("tmpfs/read=%dB/size=%dMB", n, size), What: fmt.Sprintf("`ReadAt` %s anywhere in %d MiB", what, size),
				Place: OnTmpfs, Size: size * mb, do: hotAnywhere(n)})
		}
	}
	return append(rows, Row{Key: "tmpfs/order", What: "`Read` 4 KiB in order in 64 MiB", Place: OnTmpfs, Size: 64 * mb, do: hotOrder})
}

// File is the name of the file of a row. Rows of one size share it, but for those that make their own.
func (r Row) File() string {
	if r.Piece > 0 {
		return fmt.Sprintf("own-%d.dat", os.Getpid())
	}
	return fmt.Sprintf("%dK.dat", r.Size>>10)
}
