package cold

import (
	"fmt"
	"time"
)

// Places of files.
const (
	OnDisk  = "disk"  // the directory of the data
	OnLoop  = "loop"  // a file system on a loop device that reads LoopReadAhead ahead
	OnTmpfs = "tmpfs" // /dev/shm
)

// LoopReadAhead is what the kernel reads ahead on the loop device: its default for disks, in KiB.
const LoopReadAhead = 128

// Case is a row of the group ahead: reads that the disk can begin before they are asked for, and what
// a File costs until it gains.
type Case struct {
	Part  string // of the page
	Key   string // of the row
	What  string // for people
	Place string
	Size  int64 // of the file; 0 if the work makes it, or has a directory of events
	Work  Work
	Impls []string
	// Base is the row whose time with os.File is that to compare with; empty: this one.
	Base string
	// Long is how many times as long as others it takes.
	Long time.Duration
}

// Parts of the page, in their order.
const (
	PartOrder     = "In order, not in memory"
	PartEvents    = "Events, not in memory"
	PartScattered = "Scattered reads, not in memory"
	PartLarger    = "A little larger than memory"
	PartWrites    = "Small writes anywhere"
	PartTmpfs     = "tmpfs"
	PartLives     = "Short lives"
)

var aheadImpls = []string{OS, Mmapfile, "os-again"}

// Cases returns the rows of the group.
func Cases() []Case {
	var list []Case
	add := func(c Case) {
		if c.Impls == nil {
			c.Impls = aheadImpls
		}
		if c.Place == "" {
			c.Place = OnDisk
		}
		c.Long = max(c.Long, 1)
		list = append(list, c)
	}

	for _, way := range []struct{ name, what string }{
		{"read-4KB", "`Read` 4 KiB"},
		{"read-64KB", "`Read` 64 KiB"},
		{"scanner", "`bufio.Scanner`"},
		{"copy", "`io.Copy` to a plain `Writer`"},
		{"tcp", "`io.Copy` to a TCP connection"},
	} {
		row := Case{Part: PartOrder, Size: Size, Work: Work{What: "order-" + way.name}}
		row.Key, row.What = "order/device=disk/call="+way.name, way.what
		add(row)
		row.Key, row.What = "order/device=loop/call="+way.name, fmt.Sprintf("%s, device that reads %d KiB ahead", way.what, LoopReadAhead)
		row.Place = OnLoop
		add(row)
	}
	add(Case{Part: PartOrder, Key: "order/device=disk/memory=64MB/call=read-4KB", What: "`Read` 4 KiB, in a memory cgroup of 64 MiB",
		Size: Size, Work: Work{What: "order-read-4KB", Memory: 64 << 20}})
	add(Case{Part: PartOrder, Key: "scan", What: "`scan.Count`, against four goroutines that `pread` 1 MiB",
		Size: Size, Work: Work{What: "scan", Goroutines: 4}})

	for _, work := range []struct{ name, what string }{
		{"read", "`Events` over a stream"}, {"recover", "open a log that a crash has left"},
	} {
		for _, place := range []string{OnDisk, OnLoop} {
			row := Case{Part: PartEvents, Key: "events-" + work.name + "/device=" + place, What: work.what, Place: place, Work: Work{What: "events-" + work.name}}
			if place == OnLoop {
				row.What += fmt.Sprintf(", device that reads %d KiB ahead", LoopReadAhead)
			}
			add(row)
		}
	}
	add(Case{Part: PartEvents, Key: "events-read/device=disk/memory=64MB", What: "`Events` over a stream, in a memory cgroup of 64 MiB",
		Work: Work{What: "events-read", Memory: 64 << 20}})

	scattered := Work{What: "scattered", Reads: 256, Goroutines: 1}
	add(Case{Part: PartScattered, Key: "scattered/how=one", What: "one by one", Size: Size, Work: scattered})
	scattered.Goroutines = 16
	add(Case{Part: PartScattered, Key: "scattered/how=16-goroutines", What: "16 goroutines", Size: Size, Work: scattered})
	add(Case{Part: PartScattered, Key: "scattered/how=advised", What: "each advised with `WillNeed`, and then read; against `os.File` one by one",
		Size: Size, Work: Work{What: "scattered-advised", Reads: 256}, Base: "scattered/how=one"})
	add(Case{Part: PartScattered, Key: "advise-in-memory", What: "`Advise` with `WillNeed` of 4 KiB in memory, against `posix_fadvise`",
		Size: 64 << 20, Work: Work{What: "advise-in-memory"}})

	const (
		memory = 128 << 20
		steady = 10 // each page is read several times
	)
	slightly := Case{Part: PartLarger, Size: memory * 5 / 4, Work: Work{What: "uniform", Memory: memory}, Long: steady}
	for _, n := range []int{1, 4, 16} {
		slightly.Key, slightly.What = fmt.Sprintf("slightly-larger/goroutines=%d", n), fmt.Sprintf("`ReadAt` 4 KiB anywhere in 160 MiB, goroutines: %d", n)
		slightly.Work.Goroutines = n
		add(slightly)
	}
	// A page fault in an evicted page reads as much around it as the device reads ahead.
	slightly.Key, slightly.Place = "slightly-larger/device=loop/goroutines=16", OnLoop
	slightly.What += fmt.Sprintf(", device that reads %d KiB ahead", LoopReadAhead)
	add(slightly)
	add(Case{Part: PartLarger, Key: "moving-hot-set", What: "`ReadAt` 4 KiB in 32 MiB of 512 MiB, another part eight times",
		Size: 4 * memory, Work: Work{What: "moving", Memory: memory, Goroutines: 1}, Long: steady})
	add(Case{Part: PartLarger, Key: "evicted-while-hot", What: "16 MiB evicted while `ReadAt` 4 KiB is hot: time until it is back at the rate of `os.File`",
		Size: 16 << 20, Work: Work{What: "evicted-back", Memory: NoLimit}})

	for _, folio := range []struct {
		piece int
		what  string
	}{{4 << 10, "4 KiB"}, {1 << 20, "1 MiB, which makes large folios"}} {
		add(Case{Part: PartWrites, Key: fmt.Sprintf("write-64B/piece=%dKB", folio.piece>>10), What: "200,000 × `WriteAt` 64 B in 64 MiB, written in pieces of " + folio.what,
			Work: Work{What: "write-anywhere", Reads: 200_000, Piece: folio.piece}})
	}

	for _, size := range []int64{1 << 20, 64 << 20} {
		for _, n := range []int{64, 4 << 10} {
			what := fmt.Sprintf("`ReadAt` %d B", n)
			if n >= 1<<10 {
				what = fmt.Sprintf("`ReadAt` %d KiB", n>>10)
			}
			add(Case{Part: PartTmpfs, Key: fmt.Sprintf("tmpfs/read=%dB/size=%dMB", n, size>>20), What: fmt.Sprintf("%s anywhere in %d MiB", what, size>>20),
				Place: OnTmpfs, Size: size, Work: Work{What: "hot-anywhere", Piece: n}})
		}
	}
	add(Case{Part: PartTmpfs, Key: "tmpfs/order", What: "`Read` 4 KiB in order in 64 MiB", Place: OnTmpfs, Size: 64 << 20, Work: Work{What: "hot-order"}})

	add(Case{Part: PartLives, Key: "life/reads=0", What: "open and close", Size: 64 << 10, Work: Work{What: "life"}})
	for _, k := range []int{1, 32, 64, 96, 128, 400, 1000} {
		add(Case{Part: PartLives, Key: fmt.Sprintf("life/reads=%d", k), What: fmt.Sprintf("open, %d × `ReadAt` 64 B anywhere in 64 KiB, close", k),
			Size: 64 << 10, Work: Work{What: "life", Reads: k}})
	}
	return list
}
