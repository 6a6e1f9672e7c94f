package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// Listing walks the headers; extracting writes every
// member to a file of its own.

var (
	largeTar = &dataset{"large.tar", func(path string, scale float64) error { return makeTar(path, 500e6*scale, 256<<10, 4<<20) }}
	smallTar = &dataset{"small.tar", func(path string, scale float64) error { return makeTar(path, 64e6*scale, 4<<10, 256<<10) }}
	zipFile  = &dataset{"archive.zip", func(path string, scale float64) error { return makeZip(path, 64e6*scale) }}
)

var archivePrograms = []program{
	{name: "tar-list", what: "`archive/tar`: list 500 MB", data: largeTar, run: listTar, processes: 3},
	{name: "tar-extract", what: "`archive/tar`: extract 64 MB", data: smallTar, run: extractTar, writes: true},
	{name: "zip-list", what: "`archive/zip`: list", data: zipFile, run: listZip, processes: 3},
	{name: "zip-extract", what: "`archive/zip`: extract 64 MB", data: zipFile, run: extractZip, writes: true},
}

var archiveTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// makeTar writes an archive of about size bytes, with members of low to twice high bytes.
func makeTar(path string, size float64, low, high int) error {
	return writeFile(path, func(out *bufio.Writer) error {
		w, r := tar.NewWriter(out), random(1)
		var body []byte
		for i, left := 0, int(size); left > 0; i++ {
			body = appendNoise(body[:0], r, between(r, low, high))
			left -= len(body)
			header := &tar.Header{Name: memberName(i), Mode: 0o644, Size: int64(len(body)), ModTime: archiveTime}
			if err := w.WriteHeader(header); err != nil {
				return err
			}
			if _, err := w.Write(body); err != nil {
				return err
			}
		}
		return w.Close()
	})
}

func memberName(i int) string { return fmt.Sprintf("member-%06d.dat", i) }

func makeZip(path string, size float64) error {
	return writeFile(path, func(out *bufio.Writer) error {
		w, r := zip.NewWriter(out), random(2)
		var body []byte
		for i, left := 0, int(size); left > 0; i++ {
			body = appendText(body[:0], r, between(r, 4<<10, 256<<10))
			left -= len(body)
			member, err := w.CreateHeader(&zip.FileHeader{Name: memberName(i), Method: zip.Deflate, Modified: archiveTime})
			if err != nil {
				return err
			}
			if _, err := member.Write(body); err != nil {
				return err
			}
		}
		return w.Close()
	})
}

func listTar(e *env) (result, error) {
	return e.eachMember(func(header *tar.Header, _ io.Reader) (int64, error) { return header.Size, nil })
}

func extractTar(e *env) (result, error) {
	return e.eachMember(func(header *tar.Header, body io.Reader) (int64, error) {
		return e.extract(header.Name, body)
	})
}

// eachMember calls fn with the members of the archive, and counts what it returns.
func (e *env) eachMember(fn func(header *tar.Header, body io.Reader) (int64, error)) (result, error) {
	return e.withFile(func(f file, res *result) error {
		for r := tar.NewReader(f); ; {
			header, err := r.Next()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			n, err := fn(header, r)
			if err != nil {
				return err
			}
			res.add(n)
		}
	})
}

func listZip(e *env) (result, error) {
	return e.eachEntry(func(entry *zip.File) (int64, error) { return int64(entry.UncompressedSize64), nil })
}

func extractZip(e *env) (result, error) {
	return e.eachEntry(func(entry *zip.File) (int64, error) {
		body, err := entry.Open()
		if err != nil {
			return 0, err
		}
		n, err := e.extract(entry.Name, body)
		return n, errors.Join(err, body.Close())
	})
}

func (e *env) eachEntry(fn func(entry *zip.File) (int64, error)) (result, error) {
	return e.withFile(func(f file, res *result) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		r, err := zip.NewReader(f, info.Size())
		if err != nil {
			return err
		}
		for _, entry := range r.File {
			n, err := fn(entry)
			if err != nil {
				return err
			}
			res.add(n)
		}
		return nil
	})
}

// extract writes a member to the output directory.
func (e *env) extract(name string, body io.Reader) (int64, error) {
	if strings.Contains(name, "/") {
		return 0, fmt.Errorf("a member in a directory: %s", name)
	}
	f, err := e.create(filepath.Join(e.out, name))
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(f, body)
	return n, errors.Join(err, f.Close())
}
