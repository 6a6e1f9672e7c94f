package ostest

import (
	"fmt"
	"io"
	"os"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
	"golang.org/x/sys/windows"
)

// Since Go 1.26 the flag of os.OpenFile may have flags of CreateFile, too.
func TestOpenFile_WindowsFlags(t *testing.T) {
	t.Parallel()
	calls := func(f filetest.File) (text string) {
		b := make([]byte, 4096)
		for round := range 3 {
			for off := int64(0); off < 100_000; off += 4000 {
				n, err := f.ReadAt(b, off)
				text += fmt.Sprintln(n, err, filetest.Show(b[:n]))
			}
			n, err := f.WriteAt(b[:100], int64(5000*round))
			text += fmt.Sprintln(n, err, f.Sync())
			end, err := f.Seek(-50, io.SeekEnd)
			text += fmt.Sprintln(end, err)
			n, err = f.Write(b[:100])
			text += fmt.Sprintln(n, err)
		}
		return text
	}
	for _, more := range []uint32{
		windows.FILE_FLAG_SEQUENTIAL_SCAN, windows.FILE_FLAG_RANDOM_ACCESS, windows.FILE_FLAG_WRITE_THROUGH,
		windows.FILE_FLAG_OVERLAPPED, windows.FILE_FLAG_WRITE_THROUGH | windows.FILE_FLAG_RANDOM_ACCESS,
	} {
		flag := os.O_RDWR | int(more)
		o, oerr := os.OpenFile(filetest.Temp(t, filetest.Pattern(100_000)), flag, 0)
		name := filetest.Temp(t, filetest.Pattern(100_000))
		f, err := mmapfile.OpenFile(name, flag, 0)
		if err != nil || oerr != nil {
			t.Errorf("%#x: %v, %v with os.OpenFile", more, err, oerr)
			continue
		}
		if got, want := calls(f), calls(o); got != want {
			t.Errorf("%#x: %s\nwant %s", more, got, want)
		}
		f.Bytes() // from now on, calls may use a mapping
		if got, want := calls(f), calls(o); got != want {
			t.Errorf("%#x, with a mapping: %s\nwant %s", more, got, want)
		}
		want := filetest.Read(t, o.Name())
		filetest.SameBytes(t, fmt.Sprintf("%#x: the file", more), filetest.Read(t, name), want)
		if err, oerr := f.Close(), o.Close(); err != nil || oerr != nil {
			t.Errorf("%#x: %v, %v", more, err, oerr)
		}
	}
}
