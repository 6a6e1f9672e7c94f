package main

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"
)

const (
	members    = 4_000
	memberSize = 1 << 10
)

// makeData writes an archive and its catalogue.
func makeData(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	sums, err := makeArchive(filepath.Join(dir, "archive.tar"))
	if err != nil {
		return err
	}
	return makeCatalogue(filepath.Join(dir, "catalogue.sqlite"), sums)
}

func makeArchive(name string) (sums []uint32, err error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriter(f)
	w, r := tar.NewWriter(out), rand.New(rand.NewPCG(3, 4))
	body := make([]byte, memberSize)
	for i := range members {
		for j := range body {
			body[j] = byte(r.Uint32())
		}
		sums = append(sums, crc32.ChecksumIEEE(body))
		if err := w.WriteHeader(&tar.Header{Name: memberName(i), Mode: 0o644, Size: memberSize}); err != nil {
			return nil, err
		}
		if _, err := w.Write(body); err != nil {
			return nil, err
		}
	}
	return sums, errors.Join(w.Close(), out.Flush())
}

func memberName(i int) string { return fmt.Sprintf("member-%04d", i) }

func makeCatalogue(name string, sums []uint32) (err error) {
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	db, err := sqlite3.Open("file:" + name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Exec("begin; create table members (name text primary key, crc integer)"); err != nil {
		return err
	}
	insert, _, err := db.Prepare("insert into members values (?, ?)")
	if err != nil {
		return err
	}
	for i, sum := range sums {
		if err := errors.Join(insert.BindText(1, memberName(i)), insert.BindInt64(2, int64(sum)), insert.Exec()); err != nil {
			return err
		}
	}
	return errors.Join(insert.Close(), db.Exec("commit"))
}
