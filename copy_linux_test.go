package mmapfile_test

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
)

func init() {
	ftChildren["copy"] = ftChildCopy
}

const (
	ftCopySize  = 1 << 20
	ftCopyStart = 1000 // where the source's cursor is
	ftCopyLimit = 700_001
)

// An ftCopy is a copy that the kernel has to do. src and dst are files, one of them at least a
// File; it returns how many bytes were to come, and what came.
type ftCopy struct {
	call string // the system call that shows it; none where os.File does not look inside a LimitedReader
	do   func(dir string, mapped bool) (want, got int64, err error)
}

var ftCopies = map[string]ftCopy{
	"FileToFile":       {"copy_file_range", ftFileCopy(true, true, 0)},
	"OSFileToFile":     {"copy_file_range", ftFileCopy(false, true, 0)},
	"FileToOSFile":     {"copy_file_range", ftFileCopy(true, false, 0)},
	"FileToFileN":      {"copy_file_range", ftFileCopy(true, true, ftCopyLimit)},
	"LimitedOSFile":    {"copy_file_range", ftFileCopy(false, true, ftCopyLimit)},
	"LimitedFileToOS":  {"", ftFileCopy(true, false, ftCopyLimit)},
	"FileToTCP":        {"sendfile", ftSend("tcp", 0)},
	"FileToTCPN":       {"sendfile", ftSend("tcp", ftCopyLimit)},
	"FileToUnixSocket": {"sendfile", ftSend("unix", 0)},
	"ServeContent":     {"sendfile", ftServe},
	"TCPToFile":        {"splice", ftSplice("tcp", 0)},
	"TCPToFileN":       {"splice", ftSplice("tcp", ftCopyLimit)},
	"UnixToFile":       {"splice", ftSplice("unix", 0)},
}

// ftCopyFile opens a file of that content as a File, its cursor at start.
func ftCopyFile(name string, content []byte, start int64, mapped bool) (*mmapfile.File, error) {
	if err := os.WriteFile(name, content, 0o600); err != nil {
		return nil, err
	}
	f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if mapped && f.Bytes() == nil {
		return nil, errors.New("the file does not map")
	}
	// Several small reads, so that the cursor goes where it is to be.
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

// ftCursor checks where a cursor is, in the File and in the kernel.
func ftCursor(what string, f ftFile, want int64) error {
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

func ftFileCopy(fromFile, toFile bool, limit int64) func(dir string, mapped bool) (int64, int64, error) {
	return func(dir string, mapped bool) (want, n int64, err error) {
		content := ftPattern(ftCopySize)
		from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
		f, err := ftCopyFile(from, content, ftCopyStart, mapped)
		if err != nil {
			return 0, 0, err
		}
		g, err := ftCopyFile(to, []byte("this was here before, and some of it stays"), 40, mapped)
		if err != nil {
			return 0, 0, err
		}
		var src, dst ftFile = f, g
		if !fromFile {
			src = f.OS()
		}
		if !toFile {
			dst = g.OS()
		}
		want = ftCopySize - ftCopyStart
		if limit == 0 {
			n, err = io.Copy(dst, src)
		} else {
			want = limit
			lr := &io.LimitedReader{R: src, N: limit + 5}
			// CopyN limits the limited; the kernel is asked all the same where it can be.
			if _, err := io.CopyN(dst, lr, limit); err != nil || lr.N != 5 {
				return 0, 0, fmt.Errorf("N is %d afterwards: %v", lr.N, err)
			}
			// And directly.
			for _, f := range []ftFile{src, dst} {
				if _, err := f.Seek(map[bool]int64{true: ftCopyStart, false: 40}[f == src], io.SeekStart); err != nil {
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
		if err := errors.Join(ftCursor("source", src, ftCopyStart+want), ftCursor("target", dst, 40+want)); err != nil {
			return 0, 0, err
		}
		// Both go on where they are, and the target shows what the kernel wrote.
		next := make([]byte, 100)
		m, err := src.Read(next)
		if limit > 0 && (err != nil || !bytes.Equal(next[:m], content[ftCopyStart+want:][:m])) || limit == 0 && err != io.EOF {
			return 0, 0, fmt.Errorf("the next Read: %d, %w", m, err)
		}
		if _, err := dst.Write([]byte("end")); err != nil {
			return 0, 0, err
		}
		whole := append([]byte("this was here before, and some of it stays")[:40], content[ftCopyStart:ftCopyStart+want]...)
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

// ftPair is ftConnect for a child process, which has no test.
func ftPair(network, dir string) (client, server net.Conn, err error) {
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

func ftSend(network string, limit int64) func(dir string, mapped bool) (int64, int64, error) {
	return func(dir string, mapped bool) (want, n int64, err error) {
		content := ftPattern(ftCopySize)
		f, err := ftCopyFile(filepath.Join(dir, "from"), content, ftCopyStart, mapped)
		if err != nil {
			return 0, 0, err
		}
		client, server, err := ftPair(network, dir)
		if err != nil {
			return 0, 0, err
		}
		got := ftReceive(server)
		if want = ftCopySize - ftCopyStart; limit == 0 {
			n, err = io.Copy(client, f)
		} else {
			want = limit
			n, err = io.CopyN(client, f, limit)
		}
		if err = errors.Join(err, client.Close()); err != nil {
			return 0, 0, err
		}
		if sent := <-got; !bytes.Equal(sent, content[ftCopyStart:ftCopyStart+want]) {
			return 0, 0, fmt.Errorf("%d bytes came, or others", len(sent))
		}
		return want, n, errors.Join(ftCursor("file", f, ftCopyStart+want), f.Close())
	}
}

func ftServe(dir string, mapped bool) (want, n int64, err error) {
	content := ftPattern(ftCopySize)
	f, err := ftCopyFile(filepath.Join(dir, "from"), content, ftCopyStart, mapped)
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
		return 0, 0, fmt.Errorf("%d bytes came, %w, or others", len(got), err)
	}
	return ftCopySize, int64(len(got)), errors.Join(ftCursor("file", f, ftCopySize), f.Close())
}

func ftSplice(network string, limit int64) func(dir string, mapped bool) (int64, int64, error) {
	return func(dir string, mapped bool) (want, n int64, err error) {
		content := ftPattern(ftCopySize)
		name := filepath.Join(dir, "to")
		f, err := ftCopyFile(name, ftPattern(100_000), 40, mapped)
		if err != nil {
			return 0, 0, err
		}
		client, server, err := ftPair(network, dir)
		if err != nil {
			return 0, 0, err
		}
		go func() {
			_, _ = client.Write(content)
			_ = client.Close()
		}()
		if want = ftCopySize; limit == 0 {
			n, err = io.Copy(f, server)
		} else {
			want = limit
			n, err = io.CopyN(f, server, limit)
		}
		if err != nil {
			return 0, 0, err
		}
		if err := ftCursor("file", f, 40+want); err != nil {
			return 0, 0, err
		}
		whole := append(ftPattern(40), content[:want]...)
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

func ftChildCopy(args []string) error {
	want, got, err := ftCopies[args[0]].do(args[1], args[2] == "true")
	if err == nil && got != want {
		err = fmt.Errorf("%d bytes copied, want %d", got, want)
	}
	return err
}

var ftSyscall = regexp.MustCompile(`(copy_file_range|sendfile|splice)(?:64)?(?:\(| resumed>).*= (\d+)\n`)

func TestTheKernelStillCopies(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed: ", err)
	}
	if out, err := exec.Command(strace, "-f", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace is not allowed: %v: %s", err, out)
	}
	for name, c := range ftCopies {
		if c.call == "" {
			continue
		}
		for _, mapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/mapped=%v", name, mapped), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				trace := filepath.Join(dir, "trace")
				wrap := []string{strace, "-f", "-qq", "-o", trace, "-e", "trace=copy_file_range,?sendfile,?sendfile64,splice", "--"}
				ftRun(t, ftChild(t, wrap, "copy", name, dir, strconv.FormatBool(mapped && mmapfile.CanMap)))
				text := ftGet(t, trace)
				var moved int64
				for _, m := range ftSyscall.FindAllSubmatch(text, -1) {
					if string(m[1]) == c.call {
						n, err := strconv.ParseInt(string(m[2]), 10, 64)
						if err != nil {
							t.Fatal(err)
						}
						moved += n
					}
				}
				if moved < ftCopyLimit {
					t.Errorf("%s moved %d bytes; the calls were:\n%.2000s", c.call, moved, text)
				}
			})
		}
	}
}

// What the kernel copies is right also where nobody can watch it.
func TestCopiesOfEveryKindKeepTheCursors(t *testing.T) {
	t.Parallel()
	for name, c := range ftCopies {
		for _, mapped := range []bool{false, true} {
			want, got, err := c.do(t.TempDir(), mapped)
			if err != nil || got != want {
				t.Errorf("%s, mapped %v: %d bytes, want %d, %v", name, mapped, got, want, err)
			}
		}
	}
}
