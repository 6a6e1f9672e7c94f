// Package observe prints what functions do with files, so that two builds can be compared.
package observe

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.dw1.io/mmapfile"
)

// variants are the kinds of file that each case gets. Page boundaries and the end of a mapped
// file need care, and so do zeros there.
var variants = []struct {
	name    string
	content []byte
}{
	{"text", text(10_007)},
	{"pages", text(64 << 10)},
	{"zeros", append(text(7_000), make([]byte, 3_007)...)},
	{"empty", []byte{}},
	{"missing", nil},
	{"directory", nil},
}

func text(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintln(&b, "line", i)
	}
	return b.Bytes()[:n]
}

// Case calls fn once for each variant of the file "x", each in a directory of its own. It prints
// what fn returns, or panics with, and all files afterwards.
func Case(name string, fn func(name string) any) {
	start, err := os.Getwd()
	check(err)
	for _, v := range variants {
		dir := filepath.Join(start, name, v.name)
		check(os.MkdirAll(dir, 0o755))
		check(os.Chdir(dir))
		if v.content != nil {
			check(os.WriteFile("x", v.content, 0o644))
		} else if v.name == "directory" {
			check(os.Mkdir("x", 0o755))
		}
		fmt.Printf("%s %s: %s\n", name, v.name, call(fn))
		entries, err := os.ReadDir(".")
		check(err)
		for _, e := range entries {
			b, err := os.ReadFile(e.Name())
			if strings.Trim(e.Name(), "0123456789") == "" {
				fmt.Print("\ttemporary") // a random name
			} else {
				fmt.Print("\t", e.Name())
			}
			fmt.Printf(" %s %v\n", Bytes(b), err)
		}
	}
	check(os.Chdir(start))
}

func call(fn func(name string) any) (result string) {
	defer func() {
		if p := recover(); p != nil {
			result = fmt.Sprint("panic: ", p)
		}
	}()
	return fmt.Sprint(fn("x"))
}

// Bytes returns a short form of b.
func Bytes(b []byte) string {
	return fmt.Sprintf("%d bytes %.20q %x", len(b), b, sha256.Sum256(b))
}

// Read reads r to its end.
func Read(r io.Reader) string {
	b, err := io.ReadAll(r)
	return fmt.Sprint(Bytes(b), " ", err)
}

// Probe adds a line to the file that MMAPFILE_RECORD names, if any: how many system calls served
// the calls on a File that is created and on one that is opened, and how many of both were
// mapped.
func Probe() {
	name := os.Getenv("MMAPFILE_RECORD")
	if name == "" {
		return
	}
	var before, open, closed mmapfile.Stats
	mmapfile.ReadStats(&before)
	created, err := mmapfile.Create(name + ".probe")
	check(err)
	_, err = created.Write(text(5_000))
	check(err)
	opened, err := mmapfile.Open(name + ".probe")
	check(err)
	for i := range int64(100) {
		for _, f := range []*mmapfile.File{created, opened} {
			_, err := f.ReadAt(make([]byte, 10), i)
			check(err)
		}
	}
	mmapfile.ReadStats(&open)
	check(created.Close())
	check(opened.Close())
	mmapfile.ReadStats(&closed) // Close adds the system calls of a File
	to, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	check(err)
	fmt.Fprintln(to, "probe", closed.SystemCalls-before.SystemCalls, open.MappedFiles-before.MappedFiles)
	check(to.Close())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
