package mmapfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/race"
)

// What a File promises, in a few tests to read first. What else can be seen of it from outside is in
// internal/ostest. The other files here look inside.

// A program that uses an *os.File has the same results with a File, before the file is mapped and
// after.
func TestFile_SameAsOSFile(t *testing.T) {
	t.Parallel()
	results := map[string]string{}
	withBoth(t, filetest.Pattern(10_000), func(t *testing.T, kind, name string, f filetest.File) {
		var log strings.Builder
		for round := range 100 { // the file is mapped after some of them
			b := make([]byte, 50)
			k, err := f.ReadAt(b, 9980)
			fmt.Fprintln(&log, "ReadAt at the end:", k, err, b)
			k, err = f.WriteAt([]byte("written"), int64(round))
			fmt.Fprintln(&log, "WriteAt:", k, err)
			pos, err := f.Seek(-30, io.SeekEnd)
			fmt.Fprintln(&log, "Seek:", pos, err)
			rest, err := io.ReadAll(f)
			fmt.Fprintln(&log, "ReadAll:", rest, err)
			_, err = f.ReadAt(b, -1)
			fmt.Fprintln(&log, "a negative offset:", filetest.ErrorText(err, name))
		}
		fmt.Fprintln(&log, "Truncate:", f.Truncate(5000))
		k, err := f.WriteAt([]byte("past the end"), 6000)
		fmt.Fprintln(&log, "WriteAt past the end:", k, err)
		fi, err := f.Stat()
		fmt.Fprintln(&log, "Stat:", fi.Size(), err)
		fmt.Fprintln(&log, "Close:", f.Close())
		_, err = f.Read(make([]byte, 1))
		fmt.Fprintln(&log, "Read after Close:", errors.Is(err, os.ErrClosed), filetest.ErrorText(err, name))
		fmt.Fprintln(&log, "the file:", filetest.Read(t, name))
		results[kind] = log.String()
	})
	want, got := strings.Split(results["os.File"], "\n"), strings.Split(results["File"], "\n")
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("os.File has\n%s\nand File has other results", want[i])
		}
	}
}

// Another program truncates the file. The process goes on, and calls have the result of os.File.
func TestFile_TruncatedByAnother(t *testing.T) {
	filetest.NeedForeignTruncate(t)
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(100_000))
	f := filetest.OpenMapped(t, name)
	if err := os.Truncate(name, 10); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	if n, err := f.ReadAt(b, 50_000); n != 0 || err != io.EOF {
		t.Errorf("ReadAt past the new end: %d, %v", n, err)
	}
	if n, err := f.ReadAt(b, 0); n != 10 || err != io.EOF || !bytes.Equal(b[:10], filetest.Pattern(10)) {
		t.Errorf("ReadAt across the new end: %d, %v", n, err)
	}
	if n, err := f.WriteAt([]byte("later"), 60_000); n != 5 || err != nil {
		t.Errorf("WriteAt past the new end: %d, %v", n, err)
	}
	if got := filetest.Read(t, name); len(got) != 60_005 || string(got[60_000:]) != "later" {
		t.Errorf("the file has %d bytes", len(got))
	}
}

// Once reading pays, it is a copy from the mapping, and no system call counts.
func TestFile_IsMappedOnceItPays(t *testing.T) {
	if !filetest.MapsUnasked {
		t.Skip("nothing is mapped unasked")
	}
	f := filetest.OpenFile(t, filetest.Temp(t, filetest.Pattern(100_000)), os.O_RDONLY)
	b := make([]byte, 64)
	for i := 0; !filetest.Mapped(f); i++ {
		if i == 100_000 {
			t.Skip("never mapped: not on a file system that maps")
		}
		if _, err := f.ReadAt(b, int64(i%1000)*64); err != nil {
			t.Fatal(err)
		}
	}
}

// Every method of *os.File is there, with its signature.
func TestFile_Methods(t *testing.T) {
	ours, theirs := reflect.TypeFor[*mmapfile.File](), reflect.TypeFor[*os.File]()
	for i := range theirs.NumMethod() {
		want := theirs.Method(i)
		got, ok := ours.MethodByName(want.Name)
		if want.Name == "PollFD" {
			continue // on wasip1, for package net only; its type is internal
		}
		if !ok {
			t.Errorf("there is no %s", want.Name)
			continue
		}
		sig := func(m reflect.Method) (s []reflect.Type) {
			for i := 1; i < m.Type.NumIn(); i++ {
				s = append(s, m.Type.In(i))
			}
			for i := range m.Type.NumOut() {
				s = append(s, m.Type.Out(i))
			}
			return s
		}
		if !reflect.DeepEqual(sig(got), sig(want)) {
			t.Errorf("%s is %v, want %v", want.Name, got.Type, want.Type)
		}
	}
}

func TestFile_CopiesShareCursor(t *testing.T) {
	if got := unsafe.Sizeof(mmapfile.File{}); got != unsafe.Sizeof(uintptr(0)) {
		t.Errorf("File is %d bytes", got)
	}
	page := int64(os.Getpagesize())
	data := filetest.PatternWithZeros(3 * page)
	f := filetest.OpenFile(t, filetest.Temp(t, data), os.O_RDONLY)
	twin := *f
	var got []byte
	for range 60 { // the file is mapped after some of them
		for _, g := range []*mmapfile.File{f, &twin} {
			b := make([]byte, 11)
			n, err := g.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, b[:n]...)
		}
	}
	if !bytes.Equal(got, data[:len(got)]) {
		t.Error("reads through two copies of the File are not in sequence")
	}
	twin.Close()
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Read after Close of a copy: %v", err)
	}
}

// Not parallel, nor a part of the matrix: a process has one working directory.
func TestChdir_SameAsOSFile(t *testing.T) {
	back, err := os.Getwd()
	if err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := os.Chdir(back); err != nil {
			t.Fatal(err)
		}
	}()
	dir := filetest.Dir(t)
	there := func(chdir func() error) string {
		t.Helper()
		if err := chdir(); err != nil {
			return err.Error()
		}
		wd, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		os.Chdir(back)
		return wd
	}
	o, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	f := filetest.OpenFile(t, dir, os.O_RDONLY)
	if want, got := there(o.Chdir), there(f.Chdir); got != want {
		t.Errorf("Chdir leads to %s, os.File's to %s", got, want)
	}
}

// Not parallel: AllocsPerRun counts what the whole process allocates.
func TestFile_NoAllocation(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector allocates")
	}
	const size = 100_000
	content := filetest.Pattern(size)
	f := filetest.Open(t, filetest.Temp(t, content))
	filetest.Map(t, f)
	filetest.PrefaultWrites(t, f, content)
	for range 40 { // afterwards the cursor is in the process
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Read(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
	}
	b := make([]byte, 1000)
	check := func(n int, err error, wantN int, wantErr error) {
		if n != wantN || err != wantErr {
			t.Fatalf("%d, %v; want %d, %v", n, err, wantN, wantErr)
		}
	}
	seek := func(off int64, whence int) {
		if _, err := f.Seek(off, whence); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		mapped bool // only if files are mapped
		do     func()
	}{
		{"ReadAt", false, func() { n, err := f.ReadAt(b, 5000); check(n, err, len(b), nil) }},
		{"ReadAtEnd", false, func() { n, err := f.ReadAt(b, size-10); check(n, err, 10, io.EOF) }},
		{"ReadAtPastTheEnd", false, func() { n, err := f.ReadAt(b, size); check(n, err, 0, io.EOF) }},
		{"Read", false, func() { seek(0, io.SeekStart); n, err := f.Read(b); check(n, err, len(b), nil) }},
		{"ReadEnd", false, func() { seek(size-10, io.SeekStart); n, err := f.Read(b); check(n, err, 10, nil) }},
		{"ReadPastTheEnd", false, func() { seek(size, io.SeekStart); n, err := f.Read(b); check(n, err, 0, io.EOF) }},
		{"WriteAt", false, func() { n, err := f.WriteAt(b, 5000); check(n, err, len(b), nil) }},
		{"WriteAtLarge", false, func() { n, err := f.WriteAt(content, 0); check(n, err, size, nil) }},
		{"Write", false, func() { seek(7, io.SeekStart); n, err := f.Write(b); check(n, err, len(b), nil) }},
		{"WriteString", false, func() { seek(7, io.SeekStart); n, err := f.WriteString("a string"); check(n, err, 8, nil) }},
		{"WriteAtUpToTheEnd", true, func() { n, err := f.WriteAt(b[:10], size-10); check(n, err, 10, nil) }},
		{"SeekStart", false, func() { seek(100, io.SeekStart) }},
		{"SeekCurrent", false, func() { seek(0, io.SeekCurrent) }},
		{"SeekEnd", false, func() { seek(0, io.SeekEnd) }},
		{"Len", false, func() { check(int(f.Len()), nil, size, nil) }},
		{"Bytes", true, func() { check(len(f.Bytes()), nil, size, nil) }},
		{"View", true, func() {
			check(0, f.View(100, 5000, func(p []byte) error { filetest.LoadBytes(p[:10]); return nil }), 0, nil)
		}},
		{"ViewOfAll", true, func() { check(0, f.View(0, size, func([]byte) error { return nil }), 0, nil) }},
	} {
		if (c.mapped || runtime.GOARCH == "wasm") && !filetest.CanMap {
			continue // system calls allocate on js and wasip1
		}
		if n := testing.AllocsPerRun(200, c.do); n != 0 {
			t.Errorf("%s allocates %v times", c.name, n)
		}
	}
	osFile, err := os.Open(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer osFile.Close()
	own, want := testing.AllocsPerRun(200, func() { f.Stat() }), testing.AllocsPerRun(200, func() { osFile.Stat() })
	if own > want {
		t.Errorf("Stat allocates %v times, that of os.File %v", own, want)
	}
}

func TestFile_PanicOnFaultRestored(t *testing.T) {
	page := os.Getpagesize()
	for _, was := range []bool{false, true} {
		done := make(chan struct{})
		go func() { // SetPanicOnFault is a state of the goroutine
			defer close(done)
			debug.SetPanicOnFault(was)
			name := filetest.Temp(t, filetest.Pattern(8*page))
			f := filetest.OpenMapped(t, name)
			filetest.PrefaultWrites(t, f, filetest.Pattern(8*page))
			b := make([]byte, 8*page)
			view := func(fn func(p []byte) error) { _ = f.View(0, int64(8*page), fn) }
			for _, c := range []struct {
				name string
				do   func()
			}{
				{"ReadAt", func() { _, _ = f.ReadAt(b, 0) }},
				{"Read", func() { _, _ = f.Read(b[:100]) }},
				{"WriteAt", func() { _, _ = f.WriteAt(b[:100], 0) }},
				{"Write", func() { _, _ = f.Write(b[:100]) }},
				{"WriteTo", func() { _, _ = f.WriteTo(&bytes.Buffer{}) }},
				{"View", func() { view(func([]byte) error { return nil }) }},
				{"ViewWithError", func() { view(func([]byte) error { return fs.ErrExist }) }},
				{"ViewWithPanic", func() { _ = filetest.Recovered(func() { view(func([]byte) error { panic(1) }) }) }},
				{"ViewOfLostPages", func() {
					if runtime.GOOS == "windows" {
						return
					}
					view(func(p []byte) error {
						if err := os.Truncate(name, 1); err != nil {
							t.Error(err)
						}
						filetest.LoadBytes(p)
						return nil
					})
				}},
				{"ReadAtOfLostPages", func() { _, _ = f.ReadAt(b, 0) }},
				{"WriteAtOfLostPages", func() { _, _ = f.WriteAt(b[:10], int64(7*page)) }},
				{"ReadAtAfterClose", func() { _ = f.Close(); _, _ = f.ReadAt(b, 0) }},
			} {
				if c.do(); filetest.PanicOnFault() != was {
					t.Errorf("%s: SetPanicOnFault was %v and is another now", c.name, was)
					debug.SetPanicOnFault(was)
				}
			}
		}()
		<-done
	}
}

func TestFile_CallsInsideReaderAndWriter(t *testing.T) {
	const size = 64 << 10
	filetest.NeedThreads(t)
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(size))
	f := filetest.OpenMapped(t, name)
	use := func() {
		if _, err := f.ReadAt(make([]byte, 10), 5); err != nil {
			t.Error(err)
		}
		if _, err := f.WriteAt([]byte("abc"), 5); err != nil {
			t.Error(err)
		}
		if _, err := f.Stat(); err != nil {
			t.Error(err)
		}
		if f.Len() < size || f.Bytes() == nil {
			t.Error("Len or Bytes are wrong")
		}
		if err := f.Truncate(size + 10); err != nil {
			t.Error(err)
		}
		if err := f.Sync(); err != nil {
			t.Error(err)
		}
	}
	filetest.Within(t, func() {
		if _, err := f.WriteTo(filetest.IOFunc(func([]byte) (int, error) { use(); return 1, io.ErrClosedPipe })); err != io.ErrClosedPipe {
			t.Errorf("WriteTo: %v", err)
		}
		if _, err := f.ReadFrom(filetest.IOFunc(func([]byte) (int, error) { use(); return 0, io.EOF })); err != nil {
			t.Errorf("ReadFrom: %v", err)
		}
		err := f.View(0, 100, func([]byte) error { use(); return nil })
		if err != nil {
			t.Errorf("View: %v", err)
		}
	})
}

// An open File restricts other handles no more than an open os.File does, unless the program has
// asked for mapped memory.
func TestFile_OtherHandles(t *testing.T) {
	t.Parallel()
	whole := filetest.Pattern(100_000)
	results := map[string][]string{}
	withBoth(t, whole, func(t *testing.T, kind, name string, f filetest.File) {
		buf := make([]byte, 100)
		for i := range 200 {
			if _, err := f.WriteAt(whole[i:i+100], int64(i)); err != nil {
				t.Fatal(err)
			}
			if _, err := f.ReadAt(buf, int64(i)); err != nil || !bytes.Equal(buf, whole[i:i+100]) {
				t.Fatalf("ReadAt: %v", err)
			}
		}
		other := ""
		for _, err := range []error{
			os.Truncate(name, 50_000), os.WriteFile(name, whole[:10], 0o600), os.Rename(name, name+"2"),
			os.Remove(name), os.Remove(name + "2"),
		} {
			for next := err; next != nil; next = errors.Unwrap(next) {
				err = next
			}
			other += fmt.Sprintf(" %T %v", err, err)
		}
		results[kind] = append(results[kind], other)
	})
	if a, b := results["os.File"], results["File"]; a[0] != b[0] {
		t.Errorf("with os.File open, other handles get\n%s\nand with File\n%s", a[0], b[0])
	}
}

// withBoth runs fn with an os.File and with a File. Each has a file of its own with content.
func withBoth(t *testing.T, content []byte, fn func(t *testing.T, kind, name string, f filetest.File)) {
	t.Helper()
	name := filetest.Temp(t, content)
	o, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	fn(t, "os.File", name, o)
	o.Close()
	name = filetest.Temp(t, content)
	m, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	fn(t, "File", name, m)
	m.Close()
}

// TestChildProcess is the entry point of child processes. It tests nothing.
func TestChildProcess(t *testing.T) { filetest.ChildProcess(t) }
