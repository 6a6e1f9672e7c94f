package ostest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

func init() {
	filetest.Children["copy"] = childCopy
}

const (
	copySize  = 1 << 20
	copyStart = 1000 // cursor of the source
	copyLimit = 700_001
)

// A kernelCopy is a copy that the kernel must do. do returns the number of bytes to copy, and
// how many were copied.
type kernelCopy struct {
	call string // system call that shows it; empty if os.File does not unwrap a LimitedReader
	do   func(dir string, mapped bool) (want, got int64, err error)
}

var kernelCopies = map[string]kernelCopy{
	"FileToFile":       {"copy_file_range", copyFiles(true, true, 0)},
	"OSFileToFile":     {"copy_file_range", copyFiles(false, true, 0)},
	"FileToOSFile":     {"copy_file_range", copyFiles(true, false, 0)},
	"FileToFileN":      {"copy_file_range", copyFiles(true, true, copyLimit)},
	"LimitedOSFile":    {"copy_file_range", copyFiles(false, true, copyLimit)},
	"LimitedFileToOS":  {"", copyFiles(true, false, copyLimit)},
	"FileToTCP":        {"sendfile", copyToSocket("tcp", 0)},
	"FileToTCPN":       {"sendfile", copyToSocket("tcp", copyLimit)},
	"FileToUnixSocket": {"sendfile", copyToSocket("unix", 0)},
	"ServeContent":     {"sendfile", copyByServeContent},
	"TCPToFile":        {"splice", copyFromSocket("tcp", 0)},
	"TCPToFileN":       {"splice", copyFromSocket("tcp", copyLimit)},
	"UnixToFile":       {"splice", copyFromSocket("unix", 0)},
}

// openToCopy makes a file with content and opens it as a File, with the cursor at start.
func openToCopy(name string, content []byte, start int64, mapped bool) (*mmapfile.File, error) {
	if err := os.WriteFile(name, content, 0o600); err != nil {
		return nil, err
	}
	f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if mapped && f.Bytes() == nil {
		return nil, errors.New("the file is not mapped")
	}
	// Several small reads move the cursor out of the kernel.
	for pos := start - 40; pos < start; pos += 2 {
		if _, err := f.Seek(pos, io.SeekStart); err != nil {
			return nil, err
		}
		if _, err := f.Read(make([]byte, 2)); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// checkCursor checks the cursor of f, and the offset in the kernel.
func checkCursor(what string, f filetest.File, want int64) error {
	pos, err := f.Seek(0, io.SeekCurrent)
	if pos != want || err != nil {
		return fmt.Errorf("the %s's cursor is at %d, want %d, %w", what, pos, want, err)
	}
	if m, ok := f.(*mmapfile.File); ok {
		if pos, err := m.OS().Seek(0, io.SeekCurrent); pos != want || err != nil {
			return fmt.Errorf("the %s's offset is %d, want %d, %w", what, pos, want, err)
		}
	}
	return nil
}

func copyFiles(fromFile, toFile bool, limit int64) func(dir string, mapped bool) (int64, int64, error) {
	return func(dir string, mapped bool) (want, n int64, err error) {
		content := filetest.Pattern(copySize)
		from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
		f, err := openToCopy(from, content, copyStart, mapped)
		if err != nil {
			return 0, 0, err
		}
		g, err := openToCopy(to, []byte("this was here before, and some of it stays"), 40, mapped)
		if err != nil {
			return 0, 0, err
		}
		var src, dst filetest.File = f, g
		if !fromFile {
			src = f.OS()
		}
		if !toFile {
			dst = g.OS()
		}
		want = copySize - copyStart
		if limit == 0 {
			n, err = io.Copy(dst, src)
		} else {
			want = limit
			lr := &io.LimitedReader{R: src, N: limit + 5}
			// CopyN wraps a LimitedReader in another one; the kernel still copies if it can.
			if _, err := io.CopyN(dst, lr, limit); err != nil || lr.N != 5 {
				return 0, 0, fmt.Errorf("N is %d afterwards: %v", lr.N, err)
			}
			// And directly.
			for _, f := range []filetest.File{src, dst} {
				if _, err := f.Seek(map[bool]int64{true: copyStart, false: 40}[f == src], io.SeekStart); err != nil {
					return 0, 0, err
				}
			}
			lr = &io.LimitedReader{R: src, N: limit}
			if n, err = io.Copy(dst, lr); lr.N != 0 {
				return 0, 0, fmt.Errorf("N is %d afterwards", lr.N)
			}
		}
		if err != nil {
			return 0, 0, err
		}
		if err := errors.Join(checkCursor("source", src, copyStart+want), checkCursor("target", dst, 40+want)); err != nil {
			return 0, 0, err
		}
		// Both files continue at their cursors, and the target has what the kernel wrote.
		next := make([]byte, 100)
		m, err := src.Read(next)
		if limit > 0 && (err != nil || !bytes.Equal(next[:m], content[copyStart+want:][:m])) || limit == 0 && err != io.EOF {
			return 0, 0, fmt.Errorf("the next Read: %d, %w", m, err)
		}
		if _, err := dst.Write([]byte("end")); err != nil {
			return 0, 0, err
		}
		whole := append([]byte("this was here before, and some of it stays")[:40], content[copyStart:copyStart+want]...)
		whole = append(whole, "end"...)
		got := make([]byte, len(whole)+1)
		if n, err := dst.ReadAt(got, 0); n != len(whole) || err != io.EOF || !bytes.Equal(got[:n], whole) {
			return 0, 0, fmt.Errorf("the target: %d of %d, %w, or other bytes", n, len(whole), err)
		}
		if onDisk, err := os.ReadFile(to); err != nil || !bytes.Equal(onDisk, whole) {
			return 0, 0, fmt.Errorf("on disk: %d of %d, %w, or other bytes", len(onDisk), len(whole), err)
		}
		return want, n, errors.Join(f.Close(), g.Close())
	}
}

// connectedPair is connect for a child process, which has no testing.T.
func connectedPair(network, dir string) (client, server net.Conn, err error) {
	address := "127.0.0.1:0"
	if network == "unix" {
		address = "@" + dir
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	if client, err = net.Dial(network, l.Addr().String()); err != nil {
		return nil, nil, err
	}
	server, err = l.Accept()
	return client, server, err
}

func copyToSocket(network string, limit int64) func(dir string, mapped bool) (int64, int64, error) {
	return func(dir string, mapped bool) (want, n int64, err error) {
		content := filetest.Pattern(copySize)
		f, err := openToCopy(filepath.Join(dir, "from"), content, copyStart, mapped)
		if err != nil {
			return 0, 0, err
		}
		client, server, err := connectedPair(network, dir)
		if err != nil {
			return 0, 0, err
		}
		got := filetest.Receive(server)
		if want = copySize - copyStart; limit == 0 {
			n, err = io.Copy(client, f)
		} else {
			want = limit
			n, err = io.CopyN(client, f, limit)
		}
		if err = errors.Join(err, client.Close()); err != nil {
			return 0, 0, err
		}
		if sent := <-got; !bytes.Equal(sent, content[copyStart:copyStart+want]) {
			return 0, 0, fmt.Errorf("received %d bytes, or wrong ones", len(sent))
		}
		return want, n, errors.Join(checkCursor("file", f, copyStart+want), f.Close())
	}
}

func copyByServeContent(dir string, mapped bool) (want, n int64, err error) {
	content := filetest.Pattern(copySize)
	f, err := openToCopy(filepath.Join(dir, "from"), content, copyStart, mapped)
	if err != nil {
		return 0, 0, err
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "data.bin", time.Time{}, f)
	}))
	defer server.Close()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil || !bytes.Equal(got, content) {
		return 0, 0, fmt.Errorf("received %d bytes, %w, or wrong ones", len(got), err)
	}
	return copySize, int64(len(got)), errors.Join(checkCursor("file", f, copySize), f.Close())
}

func copyFromSocket(network string, limit int64) func(dir string, mapped bool) (int64, int64, error) {
	return func(dir string, mapped bool) (want, n int64, err error) {
		content := filetest.Pattern(copySize)
		name := filepath.Join(dir, "to")
		f, err := openToCopy(name, filetest.Pattern(100_000), 40, mapped)
		if err != nil {
			return 0, 0, err
		}
		client, server, err := connectedPair(network, dir)
		if err != nil {
			return 0, 0, err
		}
		go func() {
			_, _ = client.Write(content)
			_ = client.Close()
		}()
		if want = copySize; limit == 0 {
			n, err = io.Copy(f, server)
		} else {
			want = limit
			n, err = io.CopyN(f, server, limit)
		}
		if err != nil {
			return 0, 0, err
		}
		if err := checkCursor("file", f, 40+want); err != nil {
			return 0, 0, err
		}
		whole := append(filetest.Pattern(40), content[:want]...)
		got := make([]byte, len(whole))
		if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, whole) {
			return 0, 0, fmt.Errorf("the file: %w, or other bytes", err)
		}
		if onDisk, err := os.ReadFile(name); err != nil || !bytes.Equal(onDisk, whole) {
			return 0, 0, fmt.Errorf("on disk: %d of %d, %w, or other bytes", len(onDisk), len(whole), err)
		}
		_ = server.Close()
		return want, n, f.Close()
	}
}

func childCopy(args []string) error {
	want, got, err := kernelCopies[args[0]].do(args[1], args[2] == "true")
	if err == nil && got != want {
		err = fmt.Errorf("%d bytes copied, want %d", got, want)
	}
	return err
}

var copySyscall = regexp.MustCompile(`(copy_file_range|sendfile|splice)(?:64)?(?:\(| resumed>).*= (\d+)\n`)

func TestCopy_InKernel(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed: ", err)
	}
	if out, err := exec.Command(strace, "-f", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace is not allowed: %v: %s", err, out)
	}
	for name, c := range kernelCopies {
		if c.call == "" {
			continue
		}
		for _, mapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/mapped=%v", name, mapped), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				trace := filepath.Join(dir, "trace")
				wrap := []string{strace, "-f", "-qq", "-o", trace, "-e", "trace=copy_file_range,?sendfile,?sendfile64,splice", "--"}
				filetest.RunChild(t, filetest.ChildCommand(t, wrap, "copy", name, dir, strconv.FormatBool(mapped && filetest.CanMap)))
				text := filetest.Read(t, trace)
				var moved int64
				for _, m := range copySyscall.FindAllSubmatch(text, -1) {
					if string(m[1]) == c.call {
						n, err := strconv.ParseInt(string(m[2]), 10, 64)
						if err != nil {
							t.Fatal(err)
						}
						moved += n
					}
				}
				if moved < copyLimit {
					t.Errorf("%s moved %d bytes; the calls were:\n%.2000s", c.call, moved, text)
				}
			})
		}
	}
}

// All copies have the right result, also on systems without strace.
func TestCopy_Cursors(t *testing.T) {
	t.Parallel()
	for name, c := range kernelCopies {
		for _, mapped := range []bool{false, true} {
			want, got, err := c.do(t.TempDir(), mapped)
			if err != nil || got != want {
				t.Errorf("%s, mapped %v: %d bytes, want %d, %v", name, mapped, got, want, err)
			}
		}
	}
}
