package ostest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

const recordSize = 16

// takeovers has the calls that may move the cursor between the kernel and the process.
var takeovers = map[string]func(f *mmapfile.File) error{
	"Nothing": func(*mmapfile.File) error { return nil },
	"Mapped": func(f *mmapfile.File) error {
		if filetest.CanMap && f.Bytes() == nil {
			return fmt.Errorf("not mapped")
		}
		return nil
	},
	"Fd":          func(f *mmapfile.File) error { f.Fd(); return nil },
	"SyscallConn": func(f *mmapfile.File) error { _, err := f.SyscallConn(); return err },
	"OS":          func(f *mmapfile.File) error { f.OS(); return nil },
	"MappedAndOS": func(f *mmapfile.File) error {
		if filetest.CanMap {
			f.Bytes()
		}
		f.OS()
		return nil
	},
	"SeekInPlace": func(f *mmapfile.File) error {
		_, err := f.Seek(0, io.SeekCurrent)
		return err
	},
	"CopyOfNothing": func(f *mmapfile.File) error {
		_, err := f.ReadFrom(&io.LimitedReader{R: f, N: 0})
		return err
	},
}

func TestRead_ManyGoroutines(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	records := uint64(filetest.Iterations(40_000))
	content := make([]byte, records*recordSize)
	for i := range records {
		binary.LittleEndian.PutUint64(content[i*recordSize:], uint64(i))
		binary.LittleEndian.PutUint64(content[i*recordSize+8:], ^uint64(i))
	}
	for name, takeover := range takeovers {
		for _, mapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/mapped=%v", name, mapped), func(t *testing.T) {
				t.Parallel()
				f := filetest.Open(t, filetest.Temp(t, content))
				if mapped {
					filetest.Map(t, f)
				}
				count := make([]atomic.Int32, records)
				var done atomic.Int64
				filetest.Together(t, 5, func(i int) error {
					var r io.Reader = f
					b := make([]byte, recordSize*(1+3*i))
					for taken := false; ; {
						n, err := r.Read(b)
						if err == io.EOF && n == 0 {
							return nil
						}
						if err != nil || n%recordSize != 0 || n == 0 {
							return fmt.Errorf("Read: %d, %w", n, err)
						}
						for p := b[:n]; len(p) > 0; p = p[recordSize:] {
							at := binary.LittleEndian.Uint64(p)
							if at >= records || binary.LittleEndian.Uint64(p[8:]) != ^at {
								return fmt.Errorf("not a record: %x", p[:recordSize])
							}
							count[at].Add(1)
						}
						if done.Add(int64(n)) > int64(len(content)/2) && i == 0 && !taken {
							taken = true
							if err := takeover(f); err != nil {
								return err
							}
							if name == "OS" || name == "MappedAndOS" {
								r = f.OS() // from now on both move the same cursor
							}
						}
					}
				})
				for i := range count {
					if n := count[i].Load(); n != 1 {
						t.Fatalf("record %d was read %d times", i, n)
					}
				}
				if pos, err := f.Seek(0, io.SeekCurrent); pos != int64(len(content)) || err != nil {
					t.Errorf("the cursor ends at %d, %v", pos, err)
				}
			})
		}
	}
}

func TestWrite_ManyGoroutines(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	const writers = 5
	each := filetest.Iterations(8000)
	for name, takeover := range takeovers {
		for _, start := range []string{"Empty", "Lazy", "Mapped", "Hot", "Append"} {
			t.Run(name+"/"+start, func(t *testing.T) {
				t.Parallel()
				size := writers * each * recordSize
				if start == "Empty" || start == "Append" {
					size = 0
				}
				file := filetest.Temp(t, make([]byte, size))
				flag := os.O_RDWR
				if start == "Append" {
					flag |= os.O_APPEND
				}
				f, err := mmapfile.OpenFile(file, flag, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				switch start {
				case "Hot":
					filetest.Map(t, f)
					filetest.PrefaultWrites(t, f, make([]byte, size))
				case "Mapped":
					filetest.Map(t, f)
				}
				var done atomic.Int64
				filetest.Together(t, writers, func(i int) error {
					var w io.Writer = f
					b := make([]byte, recordSize)
					taken := false
					for seq := range each {
						binary.LittleEndian.PutUint64(b, uint64(i)+1)
						binary.LittleEndian.PutUint64(b[8:], uint64(seq))
						if n, err := w.Write(b); n != recordSize || err != nil {
							return fmt.Errorf("Write: %d, %w", n, err)
						}
						if done.Add(1) > int64(writers*each/2) && i == 0 && !taken {
							taken = true
							if err := takeover(f); err != nil {
								return err
							}
							if name == "OS" || name == "MappedAndOS" {
								w = f.OS()
							}
						}
					}
					return nil
				})
				if err := f.Close(); err != nil {
					t.Error(err)
				}
				got := filetest.Read(t, file)
				if len(got) != writers*each*recordSize {
					t.Fatalf("the file has %d bytes, want %d", len(got), writers*each*recordSize)
				}
				var next [writers]uint64 // the records of each goroutine are in order
				for at := 0; at < len(got); at += recordSize {
					i, seq := binary.LittleEndian.Uint64(got[at:]), binary.LittleEndian.Uint64(got[at+8:])
					if i < 1 || i > writers || seq != next[i-1] {
						t.Fatalf("at %d is record %d of goroutine %d", at, seq, i)
					}
					next[i-1]++
				}
			})
		}
	}
}

func TestSeek_BesideReadAndCopy(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	const size = 50_000
	f := filetest.Open(t, filetest.Temp(t, filetest.Pattern(size)))
	filetest.Together(t, 6, func(i int) error {
		b := make([]byte, 100)
		for round := range filetest.Iterations(3000) {
			switch i {
			case 0:
				if pos, err := f.Seek(int64(round%size), io.SeekStart); pos != int64(round%size) || err != nil {
					return fmt.Errorf("Seek: %d, %w", pos, err)
				}
			case 1:
				if pos, err := f.Seek(0, io.SeekCurrent); pos < 0 || pos > size || err != nil {
					return fmt.Errorf("Seek: %d, %w", pos, err)
				}
			case 2, 3:
				n, err := f.Read(b)
				if err != nil && err != io.EOF {
					return err
				}
				if err := filetest.CheckContiguous(b[:n]); err != nil {
					return err
				}
			case 4:
				if _, err := io.Copy(io.Discard, io.LimitReader(f, 500)); err != nil {
					return err
				}
			case 5:
				if round == 20 && filetest.CanMap && f.Bytes() == nil {
					return fmt.Errorf("not mapped")
				}
				if pos, err := f.Seek(0, io.SeekEnd); pos != size || err != nil {
					return fmt.Errorf("Seek: %d, %w", pos, err)
				}
			}
		}
		return nil
	})
}

func TestOS_CommandSharesCursor(t *testing.T) {
	t.Parallel()
	content := filetest.Pattern(100_000)
	name := filetest.Temp(t, content)
	for _, mapped := range []bool{false, true} {
		f := filetest.Open(t, name)
		if mapped {
			filetest.Map(t, f)
		}
		b := make([]byte, 1000)
		if _, err := io.ReadFull(f, b); err != nil {
			t.Fatal(err)
		}
		cmd := filetest.ChildCommand(t, nil, "cat", "500")
		cmd.Stdin = f.OS()
		filetest.SameBytes(t, "what the command read", []byte(filetest.RunChild(t, cmd)), content[1000:1500])
		if pos, err := f.Seek(0, io.SeekCurrent); pos != 1500 || err != nil {
			t.Errorf("the cursor is at %d, %v", pos, err)
		}
		if _, err := io.ReadFull(f, b); err != nil || !bytes.Equal(b, content[1500:2500]) {
			t.Errorf("the bytes after those of the command: %v", err)
		}
		cmd = filetest.ChildCommand(t, nil, "cat", "-1")
		cmd.Stdin = f.OS()
		filetest.SameBytes(t, "the rest", []byte(filetest.RunChild(t, cmd)), content[2500:])
		if n, err := f.Read(b); n != 0 || err != io.EOF {
			t.Errorf("Read past the end: %d, %v", n, err)
		}
		// Now the command writes, in the middle and past the end.
		if _, err := f.Seek(99_000, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte("before")); err != nil {
			t.Fatal(err)
		}
		cmd = filetest.ChildCommand(t, nil, "cat", "-1")
		cmd.Stdin, cmd.Stdout = strings.NewReader(strings.Repeat("by the command ", 200)), f.OS()
		filetest.RunChild(t, cmd)
		if _, err := f.Write([]byte("after")); err != nil {
			t.Fatal(err)
		}
		want := string(content[:99_000]) + "before" + strings.Repeat("by the command ", 200) + "after"
		got := make([]byte, len(want)+1)
		if n, err := f.ReadAt(got, 0); n != len(want) || err != io.EOF {
			t.Errorf("ReadAt: %d, %v, want %d", n, err, len(want))
		}
		filetest.SameBytes(t, "what is read", got[:len(want)], []byte(want))
		filetest.SameBytes(t, "what is on disk", filetest.Read(t, name), []byte(want))
		f.Close() // Windows truncates no file that is mapped
		filetest.Write(t, name, content)
	}
}

func init() { filetest.Children["cat"] = childCat }

// childCat copies n bytes of its standard input to its standard output, or all if n is negative.
// It reads no byte after those.
func childCat(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	var in io.Reader = os.Stdin
	if n >= 0 {
		in = io.LimitReader(os.Stdin, int64(n))
	}
	b, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(b)
	return err
}
