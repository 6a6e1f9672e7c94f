package cursor

import (
	"errors"
	"io"
	"sync"
	"testing"
)

// An offset is the kernel's offset of a file of 1000 bytes.
type offset struct {
	at   int64
	err  error
	seek int
}

func (o *offset) Seek(to int64, whence int) (int64, error) {
	if o.seek++; o.err != nil {
		return 0, o.err
	}
	if whence == io.SeekCurrent {
		to += o.at
	}
	o.at = to
	return to, nil
}

func TestLock_TakesFromKernel(t *testing.T) {
	t.Parallel()
	var c Cursor
	file := &offset{at: 70}
	if c.Lock(file, false) {
		t.Fatal("it is taken though nothing wants it")
	}
	if !c.Lock(file, true) || c.Pos() != 70 || !c.InFile() {
		t.Fatalf("at %d, in the File %v", c.Pos(), c.InFile())
	}
	c.SetPos(90)
	if c.TryLock(file) || c.TryLockInFile() {
		t.Error("it is locked twice")
	}
	c.Unlock()
	if file.at != 70 || file.seek != 1 {
		t.Errorf("the kernel's offset is %d after %d calls", file.at, file.seek)
	}
	if !c.Lock(file, false) || c.Pos() != 90 {
		t.Error("it is lost")
	}
	c.Unlock()
}

// The File does not wait for a call at the kernel's offset, and does not take the cursor from it.
func TestEnter_KeepsInKernel(t *testing.T) {
	t.Parallel()
	var c Cursor
	file := &offset{at: 5}
	if !c.Enter(file) {
		t.Fatal("not counted")
	}
	if c.Lock(file, true) || c.TryLock(file) || c.TryLockInFile() {
		t.Fatal("locked beside a call in flight")
	}
	file.at += 10
	if off := c.Leave(true, 10); off != 0 {
		t.Errorf("the call began at %d", off)
	}
	if !c.Lock(file, true) || c.Pos() != 15 {
		t.Fatalf("at %d", c.Pos())
	}
	c.SetPos(20)
	c.Unlock()
	counted := c.Enter(file)
	if file.at != 20 || c.InFile() || c.Hint() != 20 {
		t.Errorf("the kernel's offset is %d, in the File %v, hint %d", file.at, c.InFile(), c.Hint())
	}
	c.Leave(counted, 0)
}

func TestGiveUp_ForGood(t *testing.T) {
	t.Parallel()
	var c Cursor
	file := &offset{}
	if !c.TryLock(file) {
		t.Fatal("not locked")
	}
	c.SetPos(30)
	c.Unlock()
	c.GiveUp(file)
	if file.at != 30 || !c.Shared() || c.InFile() {
		t.Fatalf("the kernel's offset is %d, shared %v, in the File %v", file.at, c.Shared(), c.InFile())
	}
	c.Want()
	if c.Lock(file, true) || c.TryLock(file) || c.TryLockInFile() {
		t.Error("the File takes it again")
	}
	if c.Enter(file) || c.Leave(false, 10) != -1 {
		t.Error("calls are counted, or their offset is known")
	}
}

// A call that was counted before the cursor was given up ends as counted.
func TestGiveUp_CallInFlight(t *testing.T) {
	t.Parallel()
	var c Cursor
	file := &offset{}
	counted := c.Enter(file)
	c.GiveUp(file)
	if c.Leave(counted, 5) != -1 || c.state.Load() != byKernel {
		t.Errorf("state %b", c.state.Load())
	}
}

func TestLock_NoOffset(t *testing.T) {
	t.Parallel()
	var c Cursor
	if file := (&offset{err: errors.New("a pipe")}); c.Lock(file, true) || !c.Shared() {
		t.Error("the File holds an offset that the kernel has not")
	}
}

func TestSought_ThenWanted(t *testing.T) {
	t.Parallel()
	var c Cursor
	file := &offset{}
	for i := range 2 * seeksFrom {
		if c.Sought(int64(i)) {
			c.Want()
		}
		locked := c.Lock(file, false)
		if locked {
			c.Unlock()
		}
		if want := i >= seeksFrom-1; locked != want {
			t.Fatalf("after %d calls locked is %v", i+1, locked)
		}
	}
	counted := c.Enter(file)
	c.Leave(counted, 0)
	if c.Lock(file, false) {
		t.Error("taken back after the first call at the kernel's offset")
	}
}

// Calls of both kinds, and one that gives the cursor up: no byte is passed twice or left out.
func TestCursor_Storm(t *testing.T) {
	t.Parallel()
	for range 300 {
		var c Cursor
		var mu sync.Mutex // what orders the calls in the kernel
		file := &offset{}
		kernel := seeker(func(to int64, whence int) (int64, error) {
			mu.Lock()
			defer mu.Unlock()
			return file.Seek(to, whence)
		})
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for j := range 50 {
					if i == 3 && j == 40 {
						c.GiveUp(kernel)
					}
					if i%2 == 0 && c.Lock(kernel, true) {
						c.SetPos(c.Pos() + 1)
						c.Unlock()
						continue
					}
					counted := c.Enter(kernel)
					mu.Lock()
					file.at++
					mu.Unlock()
					c.Leave(counted, 1)
				}
			})
		}
		all.Wait()
		if file.at != 200 {
			t.Fatalf("%d of 200 bytes", file.at)
		}
	}
}

type seeker func(to int64, whence int) (int64, error)

func (s seeker) Seek(to int64, whence int) (int64, error) { return s(to, whence) }
