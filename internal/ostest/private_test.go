package ostest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// A private File behaves as an os.File of a copy, unless it grows.
func TestPrivate_SameAsOSFileOfCopy(t *testing.T) {
	t.Parallel()
	for seed := range uint64(filetest.Iterations(60)) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		size := []int{1, 100, int(page), 3*int(page) + 17, 200_000}[seed%5]
		content := filetest.Pattern(size)
		if seed%3 == 0 {
			clear(content)
		}
		name, twin := filetest.Temp(t, content), filetest.Temp(t, content)
		f := mustOpenPrivate(t, name)
		o, err := os.OpenFile(twin, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		pair := []filetest.File{o, f}
		for step := range 200 {
			off, n := rnd.Int64N(int64(size)+1), rnd.IntN(size+10)
			data := filetest.Pattern(n)
			whence, kind := rnd.IntN(3), rnd.IntN(9)
			fits := min(n, size-int(off))
			var got [2]string
			for i, g := range pair {
				b := make([]byte, n)
				k, err, pos := 0, error(nil), int64(0)
				switch kind {
				case 0, 1:
					k, err = g.ReadAt(b, off)
				case 2, 3:
					k, err = g.WriteAt(data[:fits], off)
				case 4:
					k, err = g.Read(b)
				case 5:
					pos, err = g.Seek(off, io.SeekStart)
					if err == nil {
						k, err = g.Write(data[:fits])
					}
				case 6:
					pos, err = g.Seek(-off, []int{io.SeekEnd, io.SeekCurrent, io.SeekStart}[whence])
				case 7:
					var buf bytes.Buffer
					pos, err = g.WriteTo(&buf)
					b = buf.Bytes()
				case 8:
					if _, err = g.Seek(off, io.SeekStart); err == nil {
						pos, err = g.ReadFrom(bytes.NewReader(data[:fits]))
					}
				}
				if err != nil {
					err = errors.New(strings.ReplaceAll(err.Error(), g.Name(), "NAME"))
				}
				cursor, _ := g.Seek(0, io.SeekCurrent)
				got[i] = fmt.Sprint(k, " ", pos, " ", err, " ", cursor, " ", filetest.Show(b))
			}
			if got[0] != got[1] {
				t.Fatalf("seed %d, step %d, kind %d at %d:\nos.File %s\nFile    %s", seed, step, kind, off, got[0], got[1])
			}
		}
		want, err := os.ReadFile(twin)
		if err != nil {
			t.Fatal(err)
		}
		all, _ := readChunks(t, f, 1000)
		filetest.SameBytes(t, "Chunks", all, want)
		filetest.SameBytes(t, "Bytes", f.Bytes(), want)
		if err := f.View(0, int64(size), func(p []byte) error { filetest.SameBytes(t, "View", p, want); return nil }); err != nil {
			t.Error(err)
		}
		o.Close()
		if err := errors.Join(f.Sync(), f.SyncRange(0, 10), f.Close()); err != nil {
			t.Error(err)
		}
		filetest.SameBytes(t, "the file afterwards", filetest.Read(t, name), content)
	}
}

func TestPrivate_FileUnchanged(t *testing.T) {
	t.Parallel()
	content := filetest.Pattern(50_000)
	name := filetest.Temp(t, content)
	before, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	f := mustOpenPrivate(t, name)
	mine := bytes.Clone(content)
	write := func(s string, off int) { copy(mine[off:], s) }
	if _, err := f.WriteAt([]byte("WriteAt"), 100); err != nil {
		t.Error(err)
	}
	write("WriteAt", 100)
	copy(f.Bytes()[5000:], "Bytes")
	write("Bytes", 5000)
	if err := f.View(9000, 10, func(p []byte) error { copy(p, "View"); return nil }); err != nil {
		t.Error(err)
	}
	write("View", 9000)
	for c, err := range f.Chunks(20_000) {
		if err != nil {
			t.Fatal(err)
		}
		off, p := c.Offset, c.Data
		copy(p, "Chunks")
		write("Chunks", int(off))
	}
	x, err := mmapfile.At[uint32](f, 16)
	if err != nil {
		t.Fatal(err)
	}
	*x = 0x41414141
	write("AAAA", 16)
	if _, err := f.WriteString("WriteString"); err != nil {
		t.Error(err)
	}
	write("WriteString", 0)
	got := make([]byte, len(mine))
	if _, err := f.ReadAt(got, 0); err != nil {
		t.Error(err)
	}
	filetest.SameBytes(t, "ReadAt", got, mine)
	other, err := mmapfile.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	filetest.SameBytes(t, "another File", other.Bytes(), content)
	if err := f.Sync(); err != nil {
		t.Error(err)
	}
	filetest.SameBytes(t, "the file after Sync", filetest.Read(t, name), content)
	for what, copied := range map[string]func(dst io.Writer) (int64, error){
		"WriteTo":  f.WriteTo,
		"io.Copy":  func(dst io.Writer) (int64, error) { return io.Copy(dst, f) },
		"ReadFrom": func(dst io.Writer) (int64, error) { return dst.(io.ReaderFrom).ReadFrom(f) },
		"io.CopyN": func(dst io.Writer) (int64, error) { return io.CopyN(dst, f, int64(len(mine))) },
	} { // the kernel cannot copy it, because the file has other bytes
		for _, kind := range []string{"os.File", "File", "private File"} {
			to := filetest.Temp(t, make([]byte, len(mine)))
			var dst interface {
				io.WriteCloser
				io.ReaderAt
			}
			switch kind {
			case "os.File":
				dst, err = os.OpenFile(to, os.O_RDWR, 0)
			case "File":
				dst, err = mmapfile.OpenFile(to, os.O_RDWR, 0)
			default:
				dst = mustOpenPrivate(t, to)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			n, err := copied(dst)
			if n != int64(len(mine)) || err != nil {
				t.Errorf("%s to %s: %d, %v", what, kind, n, err)
			}
			clear(got)
			dst.ReadAt(got, 0)
			filetest.SameBytes(t, what+" to "+kind, got, mine)
			dst.Close()
		}
	}
	f.Close()
	filetest.SameBytes(t, "the file after Close", filetest.Read(t, name), content)
	if after, err := os.Stat(name); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("its time was %v and is %v (%v)", before.ModTime(), after.ModTime(), err)
	}
}

func TestPrivate_Growth(t *testing.T) {
	t.Parallel()
	content := filetest.Pattern(10_000)
	name := filetest.Temp(t, content)
	f := mustOpenPrivate(t, name)
	size := int64(len(content))
	refused := func(what, op string, n int64, err error) {
		t.Helper()
		var pe *fs.PathError
		if n != 0 || !errors.Is(err, errors.ErrUnsupported) || !errors.As(err, &pe) || pe.Op != op || pe.Path != name {
			t.Errorf("%s: %d, %v", what, n, err)
		}
	}
	for _, off := range []int64{size, size - 5, size + 100_000, 1 << 40} {
		n, err := f.WriteAt(make([]byte, 10), off)
		refused(fmt.Sprint("WriteAt ", off), "write", int64(n), err)
	}
	if _, err := f.Seek(-3, io.SeekEnd); err != nil {
		t.Fatal(err)
	}
	n, err := f.Write([]byte("longer"))
	refused("Write", "write", int64(n), err)
	m, err := f.ReadFrom(strings.NewReader("longer"))
	refused("ReadFrom", "write", m, err)
	for _, n := range []int64{0, 100, size + 1, 1 << 40} {
		refused(fmt.Sprint("Truncate ", n), "truncate", 0, f.Truncate(n))
	}
	_, err = f.SyscallConn()
	refused("SyscallConn", "SyscallConn", 0, err)
	refused("Advise DontNeed", "advise", 0, f.Advise(0, size, mmapfile.DontNeed))
	if got := make([]byte, 20); true {
		if n, err := f.ReadAt(got, size-10); n != 10 || err != io.EOF {
			t.Errorf("ReadAt at the end: %d, %v", n, err)
		}
	}
	filetest.SameBytes(t, "Bytes", f.Bytes(), content)

	empty := mustOpenPrivate(t, filetest.Temp(t, nil))
	if n, err := empty.Write([]byte("x")); n != 0 || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Write to an empty one: %d, %v", n, err)
	}
	if n, err := empty.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("Read of an empty one: %d, %v", n, err)
	}
	if b := empty.Bytes(); b != nil {
		t.Errorf("Bytes of an empty one: %d", len(b))
	}
}

func TestPrivate_OpenErrors(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(100))
	for _, c := range []struct {
		flag int
		size int64
		err  error
	}{
		{os.O_WRONLY, 0, fs.ErrInvalid}, {os.O_RDWR | os.O_TRUNC, 0, fs.ErrInvalid}, {os.O_RDWR | os.O_APPEND, 0, errors.ErrUnsupported},
		{os.O_RDWR, 101, errors.ErrUnsupported}, {os.O_RDWR, -1, fs.ErrInvalid}, {os.O_RDWR | os.O_CREATE | os.O_EXCL, 0, fs.ErrExist},
	} {
		f, err := mmapfile.Options{Private: true, Size: c.size}.OpenFile(name, c.flag, 0o600)
		var pe *fs.PathError
		if f != nil || !errors.Is(err, c.err) || !errors.As(err, &pe) || pe.Op != "open" || pe.Path != name {
			t.Errorf("flag %#x, size %d: %v", c.flag, c.size, err)
		}
	}
	filetest.SameBytes(t, "the file", filetest.Read(t, name), filetest.Pattern(100))
	if f, err := (mmapfile.Options{Private: true}).OpenFile(filetest.Dir(t), os.O_RDONLY, 0); f != nil || err == nil {
		t.Errorf("a directory: %v", err)
	}
	if f, err := (mmapfile.Options{Private: true}).OpenFile(name+"x", os.O_RDWR, 0); f != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	f, err := mmapfile.Options{Private: true, Size: 100}.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for what, call := range map[string]func(f filetest.File) error{ // read-only private Files have the errors of os.File
		"WriteAt":  func(f filetest.File) error { _, err := f.WriteAt([]byte("x"), 0); return err },
		"Write":    func(f filetest.File) error { _, err := f.Write([]byte("x")); return err },
		"Truncate": func(f filetest.File) error { return f.Truncate(0) },
	} {
		if want, got := call(o), call(f); want == nil || got == nil || want.Error() != got.Error() {
			t.Errorf("%s: %v, with os.File %v", what, got, want)
		}
	}
	f.Close()
	for what, err := range map[string]error{"Sync": f.Sync(), "SyncRange": f.SyncRange(0, 1), "Truncate": f.Truncate(5),
		"View": f.View(0, 1, func([]byte) error { return nil })} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
}

func TestPrivate_FailedOpen(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, nil) + "new"
	f, err := mmapfile.Options{Private: true, Size: 10}.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if f != nil || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a new file of 10 bytes: %v", err)
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

// mustOpenPrivate opens name copy on write, and closes it at the end of the test.
func mustOpenPrivate(t testing.TB, name string) *mmapfile.File {
	t.Helper()
	f, err := mmapfile.Options{Private: true}.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// A modified page keeps its bytes after a truncation in its middle, but no call shows them.
func TestPrivate_TruncatedInPage(t *testing.T) {
	t.Parallel()
	filetest.NeedForeignTruncate(t)
	name := filetest.Temp(t, filetest.Pattern(2*int(page)))
	f := mustOpenPrivate(t, name)
	if _, err := f.WriteAt(bytes.Repeat([]byte("X"), int(page)), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 100); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 500)
	if n, err := f.ReadAt(b, 200); n != 0 || err != io.EOF {
		t.Errorf("ReadAt past the new end: %d, %v", n, err)
	}
	if n, err := f.ReadAt(b, 0); n != 100 || err != io.EOF || b[0] != 'X' {
		t.Errorf("ReadAt across the new end: %d, %v", n, err)
	}
	if err := f.View(200, 50, func([]byte) error { return nil }); err != io.EOF {
		t.Errorf("View past the new end: %v", err)
	}
	if all, _ := readChunks(t, f, 64); len(all) != 100 {
		t.Errorf("Chunks returned %d bytes", len(all))
	}
	if n := f.Len(); n != 100 {
		t.Errorf("Len is %d", n)
	}
}

func TestPrivate_TruncatedByOther(t *testing.T) {
	t.Parallel()
	filetest.NeedForeignTruncate(t)
	if !filetest.CanMap {
		t.Skip("a copy does not notice a truncation")
	}
	page := int(page)
	for _, end := range []int{0, 1, page, page + 10} {
		name := filetest.Temp(t, filetest.Pattern(4*page))
		f := mustOpenPrivate(t, name)
		if _, err := f.WriteAt([]byte("own"), int64(3*page)); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, int64(end)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4*page)
		n, err := f.ReadAt(b, 0)
		if n != end || err != io.EOF || !bytes.Equal(b[:n], filetest.Pattern(end)) {
			t.Errorf("truncated to %d: ReadAt returns %d, %v", end, n, err)
		}
		if n, err := f.WriteAt([]byte("x"), int64(2*page)); n != 0 || err == nil {
			t.Errorf("truncated to %d: WriteAt past the end: %d, %v", end, n, err)
		}
		if err := f.View(int64(2*page), 10, func(p []byte) error { filetest.LoadBytes(p); return nil }); err == nil {
			t.Errorf("truncated to %d: View past the end has no error", end)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if runtime.GOOS == "linux" && len(filetest.Read(t, name)) != end {
			t.Errorf("the file has %d bytes, want %d", len(filetest.Read(t, name)), end)
		}
	}
}

// Another process truncates the file and extends it again, as in the doc of Options.Private.
func TestPrivate_TruncatedAndExtended(t *testing.T) {
	t.Parallel()
	filetest.NeedForeignTruncate(t)
	page := int(page)
	for _, end := range []int{0, 100, page, page + 10} {
		for _, look := range []bool{false, true} { // ReadAt while the file is short
			size := 3 * page
			name := filetest.Temp(t, filetest.Pattern(size))
			f := mustOpenPrivate(t, name)
			own := bytes.Repeat([]byte{0xff}, size)
			if _, err := f.WriteAt(own, 0); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(name, int64(end)); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, size)
			if look {
				if n, err := f.ReadAt(b, 0); n != end || err != io.EOF || !bytes.Equal(b[:n], own[:n]) {
					t.Errorf("truncated to %d: ReadAt returned %d, %v", end, n, err)
				}
			}
			if err := os.Truncate(name, int64(size)); err != nil {
				t.Fatal(err)
			}
			if n, err := f.ReadAt(b, 0); n != size || err != nil {
				t.Fatalf("extended again from %d: ReadAt returned %d, %v", end, n, err)
			}
			filetest.SameBytes(t, "what was never truncated", b[:end], own[:end])
			for i, c := range b[end:] {
				if c != 0 && c != 0xff {
					t.Fatalf("extended again from %d: byte %d is %d", end, end+i, c)
				}
			}
			if runtime.GOOS == "linux" && filetest.CanMap {
				kept := (end + page - 1) / page * page
				filetest.SameBytes(t, "the page of the end", b[:kept], own[:kept])
				filetest.SameBytes(t, "the pages after it", b[kept:], make([]byte, size-kept))
			}
			filetest.SameBytes(t, "Bytes", f.Bytes(), b)
		}
	}
}

func TestPrivate_FileGrows(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 100, int(page), 10_000} {
		name := filetest.Temp(t, filetest.Pattern(size))
		f := mustOpenPrivate(t, name)
		if size > 0 {
			if _, err := f.WriteAt([]byte{'X'}, 0); err != nil {
				t.Fatal(err)
			}
		}
		o, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Write(bytes.Repeat([]byte("b"), 5000)); err != nil {
			t.Fatal(err)
		}
		o.Close()
		want := filetest.Pattern(size)
		if size > 0 {
			want[0] = 'X'
		}
		got, err := io.ReadAll(f)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: reads %d, %v", size, len(got), err)
		}
		if end, err := f.Seek(0, io.SeekEnd); end != int64(size) || err != nil {
			t.Errorf("%d bytes: the end is at %d, %v", size, end, err)
		}
		if n, err := f.ReadAt(make([]byte, 10), int64(size)); n != 0 || err != io.EOF {
			t.Errorf("%d bytes: ReadAt at the end: %d, %v", size, n, err)
		}
		if n, err := f.WriteAt([]byte("x"), int64(size)); n != 0 || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%d bytes: WriteAt at the end: %d, %v", size, n, err)
		}
		if b := f.Bytes(); len(b) != size || f.Len() != int64(size) {
			t.Errorf("%d bytes: Bytes %d, Len %d", size, len(b), f.Len())
		}
	}
}
