package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"sort"
)

// The page store is a tree of pages of 4 KiB: the root, pages with up to 511 children, and
// leaves with one key each. A page begins with the number of its entries; an entry is a key and a
// page number, or in a leaf a value, of four bytes each.

const (
	pageSize = 4 << 10
	fanOut   = (pageSize - 8) / 8
	// The keys are the multiples of this, so that a search in a page has to compare.
	keyStep = 7
)

const (
	leaves512 = 128 << 10 // 512 MiB of pages
	leaves64  = 16 << 10  // 64 MiB of pages
)

var (
	pageFile = &dataset{"pages.db", func(path string, scale float64) error { return makePages(path, scaled(leaves512, scale)) }}
	hotPages = &dataset{"hot-pages.db", func(path string, scale float64) error { return makePages(path, scaled(leaves64, scale)) }}
)

var pagePrograms = []program{
	{name: "pages-100000", what: "page store: 100,000 lookups in 64 MiB", data: hotPages, run: lookups(100_000, leaves64)},
	{name: "pages-1000", what: "page store: 1,000 lookups in 512 MiB", data: pageFile, run: lookups(1_000, leaves512), processes: 3},
	{name: "seek-read", what: "`Seek` and `Read` 4 KiB, 500 times anywhere in 512 MiB", data: pageFile, run: seekRead, processes: 3},
}

func makePages(path string, leaves int) error {
	inner := (leaves + fanOut - 1) / fanOut
	r := random(7)
	page := make([]byte, pageSize)
	return writeFile(path, func(w *bufio.Writer) error {
		// write writes a page of n entries, whose values fn returns.
		write := func(n, firstKey, step int, fn func(i int) uint32) error {
			clear(page)
			binary.LittleEndian.PutUint32(page, uint32(n))
			for i := range n {
				binary.LittleEndian.PutUint32(page[8+8*i:], uint32(firstKey+i*step))
				binary.LittleEndian.PutUint32(page[12+8*i:], fn(i))
			}
			_, err := w.Write(page)
			return err
		}
		err := write(inner, 0, fanOut*keyStep, func(i int) uint32 { return uint32(1 + i) })
		for i := range inner {
			n := min(fanOut, leaves-i*fanOut)
			err = errors.Join(err, write(n, i*fanOut*keyStep, keyStep, func(j int) uint32 { return uint32(1 + inner + i*fanOut + j) }))
		}
		for i := range leaves {
			err = errors.Join(err, write(1, i*keyStep, 0, func(int) uint32 { return r.Uint32() }))
		}
		return err
	})
}

// lookups returns a program that looks for n keys in a store of so many leaves.
func lookups(n, leaves int) func(e *env) (result, error) {
	return func(e *env) (result, error) {
		return e.withFile(func(f file, res *result) error {
			leaves := scaled(leaves, e.scale)
			r, page := random(8), make([]byte, pageSize)
			for range scaled(n, e.scale) {
				key := uint32(r.IntN(leaves) * keyStep)
				at := uint32(0)
				for range 3 {
					if _, err := f.ReadAt(page, int64(at)*pageSize); err != nil {
						return err
					}
					at = search(page, key)
				}
				res.add(int64(at))
			}
			return nil
		})
	}
}

// search returns the value of the last entry whose key is at most key.
func search(page []byte, key uint32) uint32 {
	n := int(binary.LittleEndian.Uint32(page))
	i := sort.Search(n, func(i int) bool { return binary.LittleEndian.Uint32(page[8+8*i:]) > key })
	return binary.LittleEndian.Uint32(page[4+8*i:])
}

func seekRead(e *env) (result, error) {
	return e.withFile(func(f file, res *result) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		r, page := random(9), make([]byte, pageSize)
		for range scaled(500, e.scale) {
			if _, err := f.Seek(r.Int64N(info.Size()-pageSize), io.SeekStart); err != nil {
				return err
			}
			if _, err := io.ReadFull(f, page); err != nil {
				return err
			}
			res.add(int64(crc32.ChecksumIEEE(page)))
		}
		return nil
	})
}
