package lab

import (
	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
)

const stateFile = 64 * benchtest.MB

// writeStates are the states in which a mapping and a system call cost very different things.
func writeStates() []writeState {
	return []writeState{
		// One place, again and again.
		{name: "hot-64B", size: stateFile, bytes: 64 * benchtest.KB, op: inOrder(64, 64*benchtest.KB)},
		{name: "rewrite-1KB", size: stateFile, bytes: stateFile, op: inOrder(benchtest.KB, stateFile)},
		{name: "rewrite-64KB", size: stateFile, bytes: stateFile, op: inOrder(64*benchtest.KB, stateFile)},
		{name: "rewrite-1MB", size: stateFile, bytes: stateFile, op: inOrder(benchtest.MB, stateFile)},
		{name: "rewrite-500MB", size: 500 * benchtest.MB, bytes: 500 * benchtest.MB, op: inOrder(500*benchtest.MB, 500*benchtest.MB)},

		// All over the file.
		{name: "random-64B", size: stateFile, first: true, bytes: 200_000 * 64, op: anywhere(200_000, 64, stateFile)},
		{name: "random-64B-1GB", size: benchtest.GB, first: true, bytes: 200_000 * 64, op: anywhere(200_000, 64, benchtest.GB)},
		{name: "random-32KB-in-8MB", size: stateFile, first: true, bytes: 20_000 * 32 * benchtest.KB, op: anywhere(20_000, 32*benchtest.KB, 8*benchtest.MB)},
		{name: "scattered-64B", size: stateFile, first: true, bytes: 1024 * 64, op: strided(64, 64*benchtest.KB, stateFile)},

		// The same in single pages, and in large folios, in which a small write by os.File takes several times as long.
		{name: "random-64B-pages", size: stateFile, piece: 4 * benchtest.KB, first: true, bytes: 200_000 * 64, op: anywhere(200_000, 64, stateFile)},
		{name: "random-64B-folios", size: stateFile, piece: benchtest.MB, first: true, bytes: 200_000 * 64, op: anywhere(200_000, 64, stateFile)},
		{name: "scattered-64B-folios", size: stateFile, piece: benchtest.MB, first: true, bytes: 1024 * 64, op: strided(64, 64*benchtest.KB, stateFile)},
		{name: "rewrite-1KB-folios", size: stateFile, piece: benchtest.MB, bytes: stateFile, op: inOrder(benchtest.KB, stateFile)},
		{name: "sync-64B-folios", size: stateFile, piece: benchtest.MB, bytes: 64, op: synced(anywhere(1, 64, stateFile))},

		// Once through.
		{name: "once-4KB", size: stateFile, first: true, bytes: stateFile, op: inOrder(4*benchtest.KB, stateFile)},
		{name: "once-1MB-1GB", size: benchtest.GB, first: true, bytes: benchtest.GB, op: inOrder(benchtest.MB, benchtest.GB)},
		{name: "fresh-4KB", size: stateFile, ground: fresh, first: true, bytes: stateFile, op: inOrder(4*benchtest.KB, stateFile)},
		{name: "fresh-64KB", size: stateFile, ground: fresh, first: true, bytes: stateFile, op: inOrder(64*benchtest.KB, stateFile)},
		{name: "sparse-4KB", size: stateFile, ground: sparse, first: true, bytes: stateFile, op: inOrder(4*benchtest.KB, stateFile)},
		{name: "sparse-64KB", size: stateFile, ground: sparse, first: true, bytes: stateFile, op: inOrder(64*benchtest.KB, stateFile)},
		{name: "allocated-4KB", size: stateFile, ground: allocated, first: true, bytes: stateFile, op: inOrder(4*benchtest.KB, stateFile)},
		{name: "allocated-64KB", size: stateFile, ground: allocated, first: true, bytes: stateFile, op: inOrder(64*benchtest.KB, stateFile)},
		{name: "sparse-random-64B", size: stateFile, ground: sparse, first: true, bytes: 20_000 * 64, op: anywhere(20_000, 64, stateFile)},

		// And then a Sync.
		{name: "sync-64B", size: stateFile, bytes: 64, op: synced(anywhere(1, 64, stateFile))},
		{name: "sync-1KB", size: stateFile, bytes: benchtest.KB, op: synced(anywhere(1, benchtest.KB, stateFile))},
		{name: "sync-64x64B", size: stateFile, bytes: 64 * 64, op: synced(anywhere(64, 64, stateFile))},
		{name: "sync-40x64B-in-64KB", size: stateFile, bytes: 40 * 64, op: synced(within(40, 64, 64*benchtest.KB))},
		{name: "sync-5000x64B-in-1MB", size: stateFile, bytes: 5000 * 64, op: synced(within(5000, 64, benchtest.MB))},
		{name: "sync-10000x64B", size: stateFile, bytes: 10_000 * 64, op: synced(anywhere(10_000, 64, stateFile))},
		{name: "sync-20000x64B", size: stateFile, bytes: 20_000 * 64, op: synced(anywhere(20_000, 64, stateFile))},
		{name: "sync-rewrite-1KB", size: stateFile, bytes: stateFile, op: synced(inOrder(benchtest.KB, stateFile))},
		{name: "sync-rewrite-64KB", size: stateFile, bytes: stateFile, op: synced(inOrder(64*benchtest.KB, stateFile))},
		{name: "sync-rewrite-1MB", size: stateFile, bytes: stateFile, op: synced(inOrder(benchtest.MB, stateFile))},

		// With others.
		{name: "halves-64B", size: stateFile, first: true, bytes: 200_000 * 64, op: halves(100_000)},
		{name: "written-back-64B", size: stateFile, writtenBack: true, bytes: 20_000 * 64, op: anywhere(20_000, 64, stateFile)},
		{name: "written-back-4KB", size: stateFile, writtenBack: true, bytes: stateFile, op: inOrder(4*benchtest.KB, stateFile)},
	}
}

// inOrder writes size bytes from the start of the file on, in pieces.
func inOrder(piece, size int) func(f writeFile, r *benchtest.Random) error {
	return func(f writeFile, _ *benchtest.Random) error { return writeAtThrough(f, benchtest.Content(piece), size) }
}

// strided writes a piece at each multiple of stride, from the middle on, so that it is no walk
// from one end to the other.
func strided(piece, stride, size int) func(f writeFile, r *benchtest.Random) error {
	return func(f writeFile, _ *benchtest.Random) error {
		p := benchtest.Content(piece)
		for i := 0; i < size; i += stride {
			off := (i + i/stride%2*size/2) % size // to and fro between the halves
			if n, err := f.WriteAt(p, int64(off)); n != piece {
				return benchtest.Whole(n, err, piece)
			}
		}
		return nil
	}
}

// anywhere writes so many pieces anywhere in the first size bytes.
func anywhere(count, piece, size int) func(f writeFile, r *benchtest.Random) error {
	return func(f writeFile, r *benchtest.Random) error { return scatter(f, r, count, piece, 0, size) }
}

// within writes so many pieces inside one window of the file, another one each time.
func within(count, piece, window int) func(f writeFile, r *benchtest.Random) error {
	return func(f writeFile, r *benchtest.Random) error {
		start := r.Below(stateFile/window) * int64(window)
		return scatter(f, r, count, piece, start, window)
	}
}

func scatter(f writeFile, r *benchtest.Random, count, piece int, start int64, size int) error {
	p := benchtest.Content(piece)
	for range count {
		if n, err := f.WriteAt(p, start+r.Below(size-piece+1)); n != piece {
			return benchtest.Whole(n, err, piece)
		}
	}
	return nil
}

// synced is op and a Sync.
func synced(op func(f writeFile, r *benchtest.Random) error) func(f writeFile, r *benchtest.Random) error {
	return func(f writeFile, r *benchtest.Random) error {
		if err := op(f, r); err != nil {
			return err
		}
		return f.Sync()
	}
}

// halves has two goroutines write so many pieces of 64 B, each anywhere in its half of the file.
func halves(count int) func(f writeFile, r *benchtest.Random) error {
	return func(f writeFile, r *benchtest.Random) error {
		const half = stateFile / 2
		own := [2]benchtest.Random{benchtest.Random(r.Below(1 << 30)), benchtest.Random(r.Below(1 << 30))}
		return benchtest.Together(len(own), func(i int) error { return scatter(f, &own[i], count, 64, int64(i*half), half) })
	}
}
