package ostest

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/race"
)

// Each program here runs with all kinds of files, and must have the same result.

// eachKind opens name for reading as each kind of file.
func eachKind(t *testing.T, name string, each func(t *testing.T, kind string, f filetest.File)) {
	t.Helper()
	for _, kind := range []string{"os", "lazy", "mapped", "never"} {
		var f filetest.File
		if kind == "os" {
			inner, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			f = inner
		} else {
			m := filetest.OpenReadOnly(t, name)
			switch kind {
			case "mapped":
				if m.Len() > 0 {
					filetest.Map(t, m)
				}
			case "never":
				filetest.NeverMap(m)
			}
			f = m
		}
		each(t, kind, f)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// sameAnswer runs a program with each kind of file. The result must be that with os.File.
func sameAnswer(t *testing.T, name string, program func(f filetest.File) (string, error)) {
	t.Helper()
	want := ""
	eachKind(t, name, func(t *testing.T, kind string, f filetest.File) {
		got, err := program(f)
		switch {
		case err != nil:
			t.Errorf("%s: %v", kind, err)
		case kind == "os":
			want = got
		case got != want:
			t.Errorf("%s: got %.200q, want %.200q", kind, got, want)
		}
	})
}

var goroot = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("GOROOT"); dir != "" { // go test sets it
		return dir, nil
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err == nil && len(bytes.TrimSpace(out)) == 0 {
		err = errors.New("go env GOROOT says nothing")
	}
	return string(bytes.TrimSpace(out)), err
})

// inGoroot returns the path of a file or directory of the Go distribution.
func inGoroot(t *testing.T, path ...string) string {
	t.Helper()
	root, err := goroot()
	if err != nil {
		t.Skip("no Go distribution here: ", err)
	}
	name := filepath.Join(append([]string{root}, path...)...)
	if _, err := os.Stat(name); err != nil {
		t.Skip("the Go distribution is not complete: ", err)
	}
	return name
}

func digest(b []byte) string { return fmt.Sprintf("%d:%x", len(b), sha256.Sum256(b)) }

func TestPrograms_Zip(t *testing.T) {
	t.Parallel()
	sameAnswer(t, inGoroot(t, "lib", "time", "zoneinfo.zip"), func(f filetest.File) (string, error) {
		fi, err := f.Stat()
		if err != nil {
			return "", err
		}
		z, err := zip.NewReader(f, fi.Size())
		if err != nil {
			return "", err
		}
		var all strings.Builder
		for _, entry := range z.File {
			r, err := entry.Open()
			if err != nil {
				return "", err
			}
			b, err := io.ReadAll(r) // checks the CRC
			if err != nil {
				return "", fmt.Errorf("%s: %w", entry.Name, err)
			}
			fmt.Fprintln(&all, entry.Name, entry.CRC32, digest(b))
		}
		return all.String(), nil
	})
}

func TestPrograms_ELF(t *testing.T) {
	t.Parallel()
	name := inGoroot(t, "bin", "go"+map[bool]string{true: ".exe"}[runtime.GOOS == "windows"])
	if inner, err := elf.Open(name); err != nil {
		t.Skip("the go command is no ELF file: ", err)
	} else {
		_ = inner.Close()
	}
	sameAnswer(t, name, func(f filetest.File) (string, error) {
		e, err := elf.NewFile(f)
		if err != nil {
			return "", err
		}
		var all strings.Builder
		fmt.Fprintln(&all, e.FileHeader)
		for _, s := range e.Sections {
			fmt.Fprintln(&all, s.SectionHeader)
			if s.Type == elf.SHT_NOBITS {
				continue
			}
			b, err := s.Data()
			if err != nil {
				return "", err
			}
			fmt.Fprintln(&all, digest(b))
		}
		return all.String(), nil
	})
}

func TestPrograms_ScannerAndCopy(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"net", "runtime"} {
		names, err := filepath.Glob(filepath.Join(inGoroot(t, "src", dir), "*.go"))
		if err != nil || len(names) == 0 {
			t.Skip("no sources: ", err)
		}
		for i, name := range names {
			if (testing.Short() || race.Detector) && i%10 != 0 {
				continue
			}
			sameAnswer(t, name, func(f filetest.File) (string, error) {
				lines, words := 0, 0
				s := bufio.NewScanner(f)
				for ; s.Scan(); lines++ {
					words += len(bytes.Fields(s.Bytes()))
				}
				if s.Err() != nil {
					return "", s.Err()
				}
				if _, err := f.Seek(0, io.SeekStart); err != nil {
					return "", err
				}
				h := sha256.New()
				n, err := io.Copy(h, f)
				if err != nil {
					return "", err
				}
				pos, err := f.Seek(0, io.SeekCurrent)
				return fmt.Sprintf("%d %d %d %d %x", lines, words, n, pos, h.Sum(nil)), err
			})
		}
	}
}

func TestPrograms_Iotest(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 100, 4096, 10_001} {
		if runtime.GOARCH == "wasm" && size > 4096 {
			continue // TestReader reads byte by byte, and each is a system call of node
		}
		content := filetest.Pattern(size)
		name := filetest.Temp(t, content)
		eachKind(t, name, func(t *testing.T, kind string, f filetest.File) {
			if err := iotest.TestReader(f, content); err != nil {
				t.Errorf("%s, %d bytes: %v", kind, size, err)
			}
		})
	}
}

// An openerFS is a file system of Files in a directory, opened by OpenInRoot or Open.
type openerFS struct {
	dir    string
	root   bool
	mapped bool
}

func (s openerFS) Open(name string) (fs.File, error) {
	local, err := filepath.Localize(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	var f *mmapfile.File
	if s.root {
		f, err = mmapfile.OpenInRoot(s.dir, local)
	} else {
		f, err = mmapfile.Open(filepath.Join(s.dir, local))
	}
	if err != nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			pe.Path = name
		}
		return nil, err
	}
	if s.mapped {
		f.Bytes()
	}
	return f, nil
}

func TestPrograms_Fstest(t *testing.T) {
	t.Parallel()
	dir := filetest.Dir(t)
	want := []string{"a.txt", "empty", "sub/b.bin", "sub/deep/c"}
	for i, name := range want {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if name == "empty" {
			filetest.Write(t, file, nil)
			continue
		}
		size := 5000*i + 7
		if runtime.GOARCH == "wasm" {
			size = 50*i + 7 // TestFS reads byte by byte, and each is a system call of node
		}
		filetest.Write(t, file, filetest.Pattern(size))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := fstest.TestFS(root.FS(), want...); err != nil {
		t.Skip("os.Root.FS does not pass here either: ", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	for _, s := range []openerFS{{dir, false, false}, {dir, false, true}, {dir, true, false}, {dir, true, true}} {
		if err := fstest.TestFS(s, want...); err != nil {
			t.Errorf("through OpenInRoot: %v, mapped: %v: %v", s.root, s.mapped, err)
		}
	}
	if f, err := mmapfile.OpenInRoot(dir, "../"+filepath.Base(dir)+"/a.txt"); err == nil || f != nil {
		t.Errorf("a name that leads outside was opened: %v, %v", f, err)
	}
}

// sameWrites runs a program that writes with each kind of file. The result and the file must
// be those with os.File.
func sameWrites(t *testing.T, flag int, program func(f filetest.File) (string, error)) {
	t.Helper()
	dir := filetest.Dir(t)
	answer := map[string]string{}
	for _, kind := range []string{"os", "lazy", "mapped"} {
		name := filepath.Join(dir, kind)
		filetest.Write(t, name, bytes.Repeat([]byte("old content\n"), 1000))
		var f filetest.File
		if kind == "os" {
			inner, err := os.OpenFile(name, flag, 0)
			if err != nil {
				t.Fatal(err)
			}
			f = inner
		} else {
			m, err := mmapfile.OpenFile(name, flag, 0)
			if err != nil {
				t.Fatal(err)
			}
			if kind == "mapped" && flag&os.O_RDWR != 0 {
				filetest.Map(t, m)
				if flag&os.O_APPEND == 0 {
					filetest.PrefaultWrites(t, m, bytes.Repeat([]byte("old content\n"), 1000))
				}
			}
			f = m
		}
		got, err := program(f)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if err := f.Close(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		answer[kind] = got + digest(filetest.Read(t, name))
		if answer[kind] != answer["os"] {
			t.Errorf("%s: got %.200q, want %.200q", kind, answer[kind], answer["os"])
		}
	}
}

func TestPrograms_Encoders(t *testing.T) {
	t.Parallel()
	type item struct {
		N    int
		Name string
		Data []byte
	}
	sameWrites(t, os.O_RDWR, func(f filetest.File) (string, error) {
		g, j := gob.NewEncoder(f), json.NewEncoder(f)
		for i := range 500 {
			if err := g.Encode(item{i, "gob", filetest.Pattern(i)}); err != nil {
				return "", err
			}
		}
		middle, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return "", err
		}
		for i := range 500 {
			if err := j.Encode(item{i, "json", filetest.Pattern(i)}); err != nil {
				return "", err
			}
		}
		end, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return "", err
		}
		if err := f.Truncate(end); err != nil {
			return "", err
		}
		if _, err := f.Seek(middle, io.SeekStart); err != nil {
			return "", err
		}
		seen := fmt.Sprintln(middle, end)
		for d := json.NewDecoder(f); d.More(); {
			var it item
			if err := d.Decode(&it); err != nil {
				return "", err
			}
			seen += fmt.Sprintln(it.N, it.Name, len(it.Data))
		}
		d := gob.NewDecoder(io.NewSectionReader(f, 0, middle))
		for range 500 {
			var it item
			if err := d.Decode(&it); err != nil {
				return "", err
			}
			seen += fmt.Sprintln(it.N, it.Name, len(it.Data))
		}
		return seen, nil
	})
}

func TestPrograms_Loggers(t *testing.T) {
	t.Parallel()
	for _, flag := range []int{os.O_RDWR | os.O_APPEND, os.O_WRONLY | os.O_APPEND, os.O_RDWR} {
		sameWrites(t, flag, func(f filetest.File) (string, error) {
			one, two := log.New(f, "one ", 0), log.New(f, "two ", log.Lmsgprefix)
			for i := range 1000 {
				one.Print("line ", i)
				two.Printf("line %d of %s", i, "many")
			}
			pos, err := f.Seek(0, io.SeekCurrent)
			if flag&os.O_WRONLY != 0 {
				return fmt.Sprint(pos), err
			}
			last := make([]byte, 100)
			n, rerr := f.ReadAt(last, pos-50)
			return fmt.Sprint(pos, n, rerr, string(last[:n])), err
		})
	}
}
