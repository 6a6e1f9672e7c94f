// Package gain has files for which a mapping pays, and others.
package gain

import (
	"archive/tar"
	"bufio"
	"encoding/binary"
	"io"
	"net/http"
	"os"
	"time"
)

func readAt(name string) {
	f, _ := os.Open(name) // want `os.Open can be mmapfile.Open, which may pay: ReadAt`
	f.ReadAt(nil, 0)
	f.ReadAt(nil, 10)
}

func readAtInLoop(name string) {
	f, _ := os.Open(name) // want `likely to pay: ReadAt in a loop`
	for i := range int64(100) {
		f.ReadAt(nil, i)
	}
}

func samples(name string) {
	f, _ := os.Open(name) // want `without a gain in sight: read once`
	for i := int64(0); i < 8; i++ {
		f.ReadAt(nil, i)
	}
}

func sample(name string) {
	f, _ := os.Open(name) // want `without a gain in sight: read once`
	for range [8]byte{} {
		f.ReadAt(nil, 0)
	}
}

func record(f *os.File) { f.ReadAt(nil, 0) }

func records(name string) {
	f, _ := os.Open(name) // want `may pay: ReadAt`
	for range 100 {
		record(f)
	}
}

func captured(name string) func() {
	f, _ := os.Open(name) // want `may pay: ReadAt`
	return func() { f.ReadAt(nil, 0) }
}

func readAtOnce(name string) {
	f, _ := os.Open(name) // want `without a gain in sight: read once`
	f.ReadAt(nil, 0)
}

func sniff(w io.Writer, name string) {
	f, _ := os.Open(name) // want `without a gain in sight: read once`
	f.Read(nil)
	f.Seek(0, io.SeekStart)
	io.Copy(w, f)
}

func large(name string) {
	f, _ := os.Open(name) // want `without a gain in sight: read once`
	b := make([]byte, 64<<10)
	for range 100 {
		f.Read(b)
	}
}

func largeArray(name string) {
	f, _ := os.Open(name) // want `without a gain in sight: read once`
	var b [1 << 20]byte
	for range 100 {
		io.ReadFull(f, b[:])
	}
}

func smaller(name string) {
	f, _ := os.Open(name) // want `likely to pay: small or repeated reads in a loop`
	b := make([]byte, 64<<10-1)
	for range 100 {
		f.Read(b)
	}
}

func section(name string) io.Reader {
	f, _ := os.Open(name) // want `may pay: ReadAt`
	return io.NewSectionReader(f, 0, 1)
}

func seek(name string) {
	f, _ := os.Open(name) // want `without a gain in sight: read once`
	f.Seek(10, io.SeekStart)
	f.Read(nil)
}

func seeks(name string) {
	f, _ := os.OpenFile(name, os.O_RDWR, 0) // want `likely to pay: Seek in a loop`
	for i := range int64(100) {
		f.Seek(10*i, io.SeekStart)
		f.Write(nil)
	}
}

type table struct{ file *os.File }

func (t table) find(off int64) { t.file.Seek(off, io.SeekStart) }

func kept(name string) table {
	f, _ := os.Open(name) // want `may pay: Seek`
	return table{f}
}

// handedOver seeks the file of a field in a function that has it as a parameter.
func handedOver(t table) { seekTo(t.file, 10) }

func seekTo(f *os.File, off int64) { f.Seek(off, io.SeekStart) }

func asked(name string) {
	f, _ := os.Open(name) // want `may pay: Seek`
	parse(f)
}

func parse(r io.ReadSeeker) { r.Seek(10, io.SeekStart) }

func inPlace(name string) {
	f, _ := os.OpenFile(name, os.O_RDWR, 0) // want `may pay: WriteAt`
	f.WriteAt(nil, 10)
}

func inLoop(name string) {
	f, _ := os.Open(name) // want `likely to pay: small or repeated reads in a loop`
	for range 100 {
		f.Read(nil)
	}
}

func full(name string) {
	f, _ := os.Open(name) // want `may pay: small or repeated reads`
	io.ReadFull(f, nil)
	io.ReadFull(f, nil)
}

func archive(name string) {
	f, _ := os.Open(name) // want `likely to pay: small or repeated reads in a loop`
	tar.NewReader(f)
}

func header(name string) (n uint32) {
	f, _ := os.Open(name) // want `may pay: small or repeated reads`
	binary.Read(f, binary.LittleEndian, &n)
	return n
}

func opensInLoop(names []string) {
	for _, name := range names {
		f, _ := os.Open(name) // want `os.Open can be mmapfile.Open, without a gain in sight: read once`
		f.Read(nil)
	}
}

func all(name string) {
	f, _ := os.Open(name) // want `without a gain in sight: read once`
	io.ReadAll(f)
}

func serve(w http.ResponseWriter, r *http.Request) {
	f, _ := os.Open("x") // want `without a gain in sight: read once`
	http.ServeContent(w, r, "x", time.Time{}, f)
}

func scan(name string) {
	f, _ := os.Open(name) // want `likely to pay: small or repeated reads in a loop`
	bufio.NewScanner(f)
}

func write(name string) {
	f, _ := os.Create(name) // want `without a gain in sight: written once from start to end`
	f.Write(nil)
	f.Seek(0, io.SeekEnd)
}

func buffered(name string) {
	f, _ := os.Create(name) // want `without a gain in sight: written once from start to end`
	bufio.NewWriter(f)
}

func writeOnly(name string) {
	f, _ := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644) // want `without a gain in sight: open for writing only`
	f.WriteAt(nil, 10)
}

func appends(name string) {
	f, _ := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0) // want `without a gain in sight: append only`
	f.Write(nil)
	f.Seek(0, io.SeekStart)
}

func synchronous(name string) {
	f, _ := os.OpenFile(name, os.O_RDWR|os.O_SYNC, 0) // want `without a gain in sight: each write is synchronous or direct`
	f.WriteAt(nil, 10)
}

func list(name string) {
	f, _ := os.Open(name) // want `without a gain in sight: neither read nor written here`
	f.Readdirnames(-1)
}
