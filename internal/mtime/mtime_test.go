package mtime

import (
	"errors"
	"io/fs"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A fake is a file with a modification time.
type fake struct {
	mu    sync.Mutex
	mtime int64
	err   error
	marks []mark
	block chan bool // if set, MarkModified waits for it
}

type mark struct{ before, off int64 }

func (f *fake) Stat() (fs.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return info{time: time.Unix(0, f.mtime)}, f.err
}

func (f *fake) MarkModified(before, off int64) {
	if f.block != nil {
		<-f.block
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.marks = append(f.marks, mark{before, off})
	f.mtime = 1_000_000
}

func (f *fake) marked() []mark {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.marks
}

type info struct {
	fs.FileInfo
	time time.Time
}

func (i info) ModTime() time.Time { return i.time }

// over reports whether there is neither a period nor a timer.
func over(p *Period) bool {
	s := p.State()
	return !s.Active && !s.Timed
}

func TestPeriod_Length(t *testing.T) {
	t.Parallel()
	if lasts > 50*time.Millisecond {
		t.Errorf("it lasts %v", lasts)
	}
}

// The file is marked once, with the time and the place of the last write through the kernel.
func TestEnd_MarksMappedWrites(t *testing.T) {
	t.Parallel()
	var p Period
	file := &fake{mtime: 77}
	p.End(file)
	if p.Active() || !p.Begin(file, 500) || !p.Active() || p.State().Began != 77 {
		t.Fatalf("active %v, time %d", p.Active(), p.State().Began)
	}
	p.End(file)
	if p.Active() || len(file.marked()) > 0 {
		t.Fatalf("marked %v without a mapped write", file.marked())
	}
	p.Begin(file, 500)
	file.mtime = 78
	p.Begin(file, 900) // a write of another goroutine, in the same period
	p.Wrote(file)
	p.Wrote(file)
	p.End(file)
	p.End(file)
	if got := file.marked(); len(got) != 1 || got[0] != (mark{78, 900}) {
		t.Errorf("marked %v", got)
	}
}

func TestBegin_StatFails(t *testing.T) {
	t.Parallel()
	var p Period
	if p.Begin(&fake{err: errors.New("closed")}, 0) || p.Active() {
		t.Error("a period without a time")
	}
}

// A period that ends during a mapped write leaves a time. The next period knows it, and does
// not take it for one that a program has set. A timer ends that period, too.
func TestWrote_AfterEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p Period
		file := &fake{mtime: 77}
		p.Begin(file, 500)
		p.Wrote(file)
		p.End(file)
		p.Wrote(file)
		if !p.State().Mapped || p.State().Began != 1_000_000 {
			t.Fatalf("mapped %v, time %d", p.State().Mapped, p.State().Began)
		}
		time.Sleep(2 * lasts)
		synctest.Wait()
		if got := file.marked(); len(got) != 2 || got[1] != (mark{1_000_000, 500}) || !over(&p) {
			t.Errorf("marked %v, over %v", got, over(&p))
		}
	})
}

func TestBegin_TimerEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p Period
		file := &fake{mtime: 77}
		for range 3 {
			p.Begin(file, 500)
			p.Wrote(file)
			time.Sleep(lasts - 1)
			if over(&p) {
				t.Fatal("it ends early")
			}
			time.Sleep(2 * time.Nanosecond)
			synctest.Wait()
			if !over(&p) {
				t.Fatal("its timer does not end it")
			}
		}
		if got := file.marked(); len(got) != 3 {
			t.Errorf("marked %v", got)
		}
	})
}

// A timer that does not fire is that of a bubble that is gone.
func TestEndOverdue_NoTimer(t *testing.T) {
	t.Parallel()
	var p Period
	file := &fake{mtime: 77}
	p.Begin(file, 500)
	p.Wrote(file)
	now := time.Now()
	if p.EndOverdue(file, now); !p.State().Mapped {
		t.Fatal("it ends before its time")
	}
	if p.EndOverdue(file, now.Add(2*lasts)); p.Active() || len(file.marked()) != 1 {
		t.Errorf("active %v, marked %v", p.Active(), file.marked())
	}
}

// End and Begin wait for an end in progress.
func TestPeriod_WaitsForMark(t *testing.T) {
	t.Parallel()
	var p Period
	file := &fake{mtime: 77, block: make(chan bool)}
	p.Begin(file, 500)
	p.Wrote(file)
	ended := make(chan bool, 3)
	go func() { p.End(file); ended <- true }()
	for p.Active() {
		runtime.Gosched()
	}
	go func() { p.End(file); ended <- true }()
	go func() { p.Begin(file, 0); ended <- true }()
	for range 1000 {
		runtime.Gosched()
	}
	if len(ended) > 0 {
		t.Error("a call returns while the file is about to be marked")
	}
	close(file.block)
	for range cap(ended) {
		<-ended
	}
	if p.State().Began != 1_000_000 {
		t.Errorf("the next period begins with the time %d", p.State().Began)
	}
}

// A mapped write begins the count anew, the first of its period at least.
func TestAsked_SinceMappedWrite(t *testing.T) {
	t.Parallel()
	var p Period
	file := &fake{}
	for want := uint32(1); want < 20; want++ {
		if got := p.Asked(); got != want {
			t.Fatalf("%d, want %d", got, want)
		}
		p.Begin(file, 0)
		p.End(file)
	}
	p.Begin(file, 0)
	p.Wrote(file)
	p.End(file)
	if got := p.Asked(); got != 1 {
		t.Errorf("%d after a mapped write", got)
	}
}
