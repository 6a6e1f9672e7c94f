package live

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

var replacements = flag.Int("live.replacements", 0, "how often TestUse_BesideReplacement replaces its file; 0: some hundred times")

func init() { filetest.Children["live"] = childReads }

// ways are how a writer replaces a file by version n. The first ones leave the old version as it
// was, and the others do not.
var ways = []struct {
	name    string
	replace func(name string, n uint64) error
}{
	{"rename", renameTo},
	{"switch a link", func(name string, n uint64) error {
		target := fmt.Sprint(name, ".", n%4)
		if err := renameTo(target, n); err != nil {
			return err
		}
		return errors.Join(os.Symlink(target, name+".link"), os.Rename(name+".link", name))
	}},
	{"delete and create", func(name string, n uint64) error {
		return errors.Join(os.Remove(name), os.WriteFile(name, content(n), 0o600))
	}},
	{"truncate", func(name string, n uint64) error { return os.Truncate(name, int64(n%size)) }},
	{"rewrite in place", func(name string, n uint64) error { return os.WriteFile(name, content(n), 0o600) }},
}

const clean = 2 // how many of the ways

func renameTo(name string, n uint64) error {
	if err := os.WriteFile(name+".new", content(n), 0o600); err != nil {
		return err
	}
	return rename(name+".new", name)
}

// all keeps every version that was loaded.
type all struct {
	sync.Mutex
	loaded []words
	faults atomic.Int64
}

// open opens name with frequent looks. Versions are unchanged if whole is set.
func (a *all) open(name string, whole bool) (*Value[words], error) {
	o := Options[words]{Interval: 200 * time.Microsecond, Settle: -1, Copy: copies}
	o.Release = func(w words) { w.released.Add(1) }
	o.OnError = func(err error) {
		if whole && runtime.GOOS != "windows" { // there it meets the file while it is replaced
			panic(err)
		}
	}
	return o.Open(name, func(f *mmapfile.File) (words, error) {
		w := words{p: f.Bytes(), released: new(atomic.Int32)}
		if _, err := w.number(); whole && err != nil {
			return w, err
		}
		a.Lock()
		defer a.Unlock()
		a.loaded = append(a.loaded, w)
		return w, nil
	})
}

// read looks at all of a version again and again. If whole is set, each is one version, and none
// is older than the one before.
func (a *all) read(v *Value[words], whole bool, stop *atomic.Bool) error {
	last := uint64(0)
	for filetest.KeepGoing(stop) {
		runtime.Gosched() // the writer needs the processor, too
		err := v.Use(func(w words) error {
			if w.released.Load() != 0 {
				panic("released under its Use")
			}
			n, err := w.number()
			if err == nil && whole && n < last {
				err = fmt.Errorf("%d after %d", n, last)
			}
			last = n
			return err
		})
		if whole && err != nil {
			return err
		}
		var fault *fs.PathError
		if errors.As(err, &fault) {
			a.faults.Add(1)
		}
	}
	return nil
}

// check returns an error if a version was not released once.
func (a *all) check() error {
	a.Lock()
	defer a.Unlock()
	for i, w := range a.loaded {
		if n := w.released.Load(); n != 1 {
			return fmt.Errorf("version %d of %d was released %d times", i+1, len(a.loaded), n)
		}
	}
	return openFiles()
}

// childReads reads args[0] until its input ends.
func childReads(args []string) error {
	var a all
	whole := len(args) > 1
	v, err := a.open(args[0], whole)
	if err != nil {
		return err
	}
	var stop atomic.Bool
	var readers sync.WaitGroup
	var failed atomic.Value
	for range 4 {
		readers.Go(func() {
			if err := a.read(v, whole, &stop); err != nil {
				failed.Store(err)
			}
		})
	}
	fmt.Println("reads")
	io.Copy(io.Discard, os.Stdin)
	stop.Store(true)
	readers.Wait()
	if err, _ := failed.Load().(error); err != nil {
		return err
	}
	if err := v.Close(); err != nil {
		return err
	}
	fmt.Println(v.Status().Taken, "versions,", a.faults.Load(), "faults")
	return a.check()
}

// A file that is replaced all the time is read by 16 goroutines and by another process.
func TestUse_BesideReplacement(t *testing.T) {
	filetest.NeedThreads(t)
	replacements := *replacements
	if replacements == 0 {
		replacements = filetest.Iterations(400)
	}
	for _, whole := range []bool{true, false} {
		if !whole && runtime.GOOS == "windows" {
			continue // the other ways fail while the file is open
		}
		t.Run(fmt.Sprintf("whole=%v", whole), func(t *testing.T) {
			if !whole {
				filetest.NeedFaultAddresses(t)
			}
			dir := filetest.Dir(t)
			name := filepath.Join(dir, "data")
			filetest.Write(t, name, content(1))
			var a all
			v, err := a.open(name, whole)
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			args, use := []string{name}, ways
			if whole {
				args, use = append(args, "whole"), ways[:clean]
			}
			if runtime.GOOS == "windows" {
				use = ways[:1] // links need a right
			}
			child := filetest.ChildCommand(t, nil, "live", args...)
			child.Stderr = os.Stderr
			in, err := child.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			filetest.StartChild(t, child)
			out := bufio.NewScanner(stdout)
			if !out.Scan() {
				t.Fatal("the child does not read: ", child.Wait())
			}

			var stop atomic.Bool
			done := make(chan struct{})
			go func() {
				defer close(done)
				filetest.Together(t, 16, func(int) error { return a.read(v, whole, &stop) })
			}()
			for n := range uint64(replacements) {
				way := use[(n/3)%uint64(len(use))]
				if err := way.replace(name, n+2); err != nil {
					t.Fatalf("%s: %v", way.name, err)
				}
				if n%8 == 0 {
					if _, err := v.Refresh(); whole && err != nil && runtime.GOOS != "windows" {
						t.Errorf("after %s: %v", way.name, err)
					}
				}
			}
			if err := ways[0].replace(name, 1<<40); err != nil {
				t.Fatal(err)
			}
			if _, err := v.Refresh(); err != nil && runtime.GOOS != "windows" {
				t.Error(err)
			}
			stop.Store(true)
			<-done
			eventually(t, "the last version is current", func() bool {
				return v.Use(func(w words) error {
					if n, _ := w.number(); n != 1<<40 {
						return errTest
					}
					return nil
				}) == nil
			})
			if err := v.Close(); err != nil {
				t.Error(err)
			}
			if s := v.Status(); s.Open != 0 {
				t.Errorf("after Close: %+v", s)
			}
			t.Logf("%d replacements: %d versions, %d faults", replacements, v.Status().Taken, a.faults.Load())
			if err := a.check(); err != nil {
				t.Error(err)
			}
			in.Close()
			for out.Scan() {
				t.Log("child: ", out.Text())
			}
			if err := child.Wait(); err != nil {
				t.Error("child: ", err)
			}
			if !filetest.Eventually(noGoroutine) {
				t.Error("a goroutine is left")
			}
			var stats mmapfile.Stats
			if !filetest.Eventually(func() bool {
				runtime.GC()
				mmapfile.ReadStats(&stats)
				return stats.ReservedBytes == 0
			}) {
				t.Errorf("reserved after a collection: %+v", stats)
			}
			runtime.KeepAlive(v)
		})
	}
}

// noGoroutine reports whether no Value has a goroutine.
func noGoroutine() bool {
	b := make([]byte, 1<<20)
	return !strings.Contains(string(b[:runtime.Stack(b, true)]), ").run(")
}

// openFiles returns an error if the process has a file named data open or mapped, or a copy.
func openFiles() error {
	if runtime.GOOS != "linux" {
		return nil
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	list := strings.Split(string(maps), "\n")
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, fd := range fds {
		target, _ := os.Readlink("/proc/self/fd/" + fd.Name())
		list = append(list, target)
	}
	for _, entry := range list {
		if strings.Contains(entry, "/data") || strings.Contains(entry, "/live-") {
			return fmt.Errorf("after Close: %s", entry)
		}
	}
	return nil
}
