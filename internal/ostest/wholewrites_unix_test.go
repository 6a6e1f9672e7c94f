//go:build unix

package ostest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/race"
)

func init() {
	filetest.Children["records"] = childRecords
}

const tornRecords = 16

// childRecords writes records of a size in turn, each filled with one byte, until the process
// ends: by itself after so many microseconds, or by a signal if that is 0. It says when all
// have been written often enough for mapped writes.
func childRecords(args []string) error {
	name, kind := args[0], args[1]
	size, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	exit, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	var f filetest.File
	if kind == "os" {
		f, err = os.OpenFile(name, os.O_RDWR, 0)
	} else {
		f, err = mmapfile.Options{WholeWrites: kind == "WholeWrites"}.OpenFile(name, os.O_RDWR, 0)
	}
	if err != nil {
		return err
	}
	if m, ok := f.(*mmapfile.File); ok && filetest.CanMap && m.Bytes() == nil {
		return fmt.Errorf("the file is not mapped")
	}
	// The race detector has no mapped writes in the last page, and the eager policy forgets what is known.
	mapped := kind == "File" && filetest.CanMap && !race.Detector && !pages.Eager
	writing, before := false, uint64(0)
	b := make([]byte, size)
	for round := 1; ; round++ {
		for i := range b {
			b[i] = byte(round)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		for i := range tornRecords {
			if round%2 == 0 {
				_, err = f.WriteAt(b, int64(i*size))
			} else {
				_, err = f.Write(b)
			}
			if err != nil {
				return err
			}
		}
		if writing || round%500 != 0 {
			continue
		}
		if m, ok := f.(*mmapfile.File); ok && mapped {
			n := m.SystemCalls().Total()
			if few := n-before < 500*tornRecords/2; !few && round < 100_000 {
				before = n
				continue
			} else if !few {
				return fmt.Errorf("%d of %d writes were system calls", n-before, 500*tornRecords)
			}
		}
		writing = true
		fmt.Println("writing")
		if exit > 0 {
			time.AfterFunc(time.Duration(exit)*time.Microsecond, func() { os.Exit(3) })
		}
	}
}

// A process that ends inside a write leaves all of it in the file, or none, with WholeWrites as
// with os.File. Without, it tears that write at most.
func TestWriteAt_KilledInside(t *testing.T) {
	t.Parallel()
	rounds := 20
	if testing.Short() {
		rounds = 4
	}
	for _, kind := range []string{"os", "WholeWrites", "File"} {
		for _, size := range []int{64, 512, 4096} {
			t.Run(fmt.Sprintf("%s/%d", kind, size), func(t *testing.T) {
				t.Parallel()
				torn := 0
				for i := range rounds {
					torn += endInside(t, kind, size, i%4 == 3)
				}
				if kind != "File" && torn > 0 {
					t.Errorf("%d of %d processes tore a write", torn, rounds)
				}
				t.Logf("%d of %d processes tore a write", torn, rounds)
			})
		}
	}
}

// endInside ends a process that writes records, and returns how many are torn.
func endInside(t *testing.T, kind string, size int, exit bool) (torn int) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "records")
	filetest.Write(t, name, make([]byte, tornRecords*size))
	after := 1 + rand.IntN(2000)
	exits := "0"
	if exit {
		exits = strconv.Itoa(after)
	}
	cmd := filetest.ChildCommand(t, nil, "records", name, kind, strconv.Itoa(size), exits)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	filetest.StartChild(t, cmd)
	if _, err := io.ReadFull(out, make([]byte, len("writing\n"))); err != nil {
		t.Fatal(err)
	}
	if !exit {
		<-time.After(time.Duration(after) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if err, ok := cmd.Wait().(*exec.ExitError); !ok || exit && err.ExitCode() != 3 {
		t.Fatalf("the child ended with %v", err)
	}
	content := filetest.Read(t, name)
	rounds, changes := map[byte]bool{}, 0
	for i := range tornRecords {
		record := content[i*size:][:size]
		if bytes.Count(record, record[:1]) < size {
			torn++
		}
		for _, x := range record {
			rounds[x] = true
		}
		if i > 0 && record[0] != content[(i-1)*size] {
			changes++
		}
	}
	if torn > 1 || changes > 1 || len(rounds) > 2 {
		t.Errorf("%d records are torn, the round changes %d times, and there are bytes of %d", torn, changes, len(rounds))
	}
	return torn
}
