package flush

import (
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var errDisk = errors.New("the disk has failed")

// disk is a file whose writes are volatile until a flush. A flush that fails drops them.
type disk struct {
	mu             sync.Mutex
	written, saved int64
	flushes        int
	fail           error // what the next flush returns
}

func (d *disk) write(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.written += n
}

func (d *disk) flush() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flushes++
	d.saved = d.written
	err := d.fail
	d.fail = nil
	return err
}

func (d *disk) unsaved() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.written - d.saved
}

// write makes call, which is to write at most most bytes.
func write(fl *Flusher[disk], d *disk, most int, call func() (int, error)) {
	fl.Enter()
	n, err := call()
	fl.Leave(d, most, n, err)
}

// Whatever calls return, in whatever order: fewer bytes than the limit are not flushed, and each
// failure is reported once, by the next Sync or at the end.
func TestFlusher_Model(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		limit := 1 + r.Int64N(100)
		d := new(disk)
		fl := New(d, limit, 0, (*disk).flush)
		failed := false // a failure is to be reported
		check := func(what string) {
			t.Helper()
			if n := d.unsaved(); n >= limit || fl.Pending() < n {
				t.Fatalf("seed %d, %s: %d bytes of %d are not durable, %d pending", seed, what, n, limit, fl.Pending())
			}
			if (fl.Failure() != nil) != failed {
				t.Fatalf("seed %d, %s: failure %v, want one: %v", seed, what, fl.Failure(), failed)
			}
		}
		// A call that reaches the limit flushes, and keeps the failure of that.
		due := func() {
			if fl.Pending() >= limit && d.fail == errDisk {
				failed = true
			}
		}
		for range 200 {
			switch n := r.Int64N(limit + 10); r.IntN(6) {
			case 0:
				d.fail = errDisk
			case 1:
				d.fail = os.ErrClosed // which is no failure of the disk
			case 2:
				fail := d.fail
				kept, err := fl.Sync(d.flush)
				if (kept != nil) != failed || err != fail || fl.Pending() != 0 {
					t.Fatalf("seed %d, Sync: %v, %v, want %v, %v; %d pending", seed, kept, err, failed, fail, fl.Pending())
				}
				failed = false
			case 3:
				end := fl.Begin()
				d.write(n)
				end(n)
				due()
				fl.Due(d)
			default:
				write(fl, d, int(n), func() (int, error) {
					k := n
					var err error
					if r.IntN(4) == 0 {
						k, err = r.Int64N(n+1), errDisk
					}
					d.write(k)
					if err == nil && fl.Pending()+k >= limit || err != nil && fl.Pending()+n >= limit {
						failed = failed || d.fail == errDisk
					}
					return int(k), err
				})
			}
			check("a call")
		}
		if fl.Pending() > 0 && d.fail == errDisk {
			failed = true
		}
		if err := fl.End(d); (err != nil) != failed || d.unsaved() != 0 {
			t.Fatalf("seed %d, End: %v, want one: %v; %d bytes are not durable", seed, err, failed, d.unsaved())
		}
		if kept, _ := fl.Sync(d.flush); kept != nil || fl.Late() {
			t.Fatalf("seed %d, after End: %v is reported again; late %v", seed, kept, fl.Late())
		}
		if fl.Count(1); !fl.Late() {
			t.Fatalf("seed %d: a byte after End is not late", seed)
		}
	}
}

func TestFlusher_Interval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := new(disk)
		fl := New(d, 0, time.Second, (*disk).flush)
		after := func(what string, wait time.Duration, want int) {
			t.Helper()
			time.Sleep(wait) // the clock of the bubble, which does not wait
			synctest.Wait()
			if d.flushes != want {
				t.Errorf("%s: %d flushes, want %d", what, d.flushes, want)
			}
		}
		after("nothing written", 5500*time.Millisecond, 0)
		write(fl, d, 7, func() (int, error) { return 7, nil })
		after("written", 500*time.Millisecond, 1)
		after("all is durable", 5*time.Second, 1)
		end := fl.Begin()
		after("a call that has not ended", 2*time.Second, 3)
		end(0)
		after("it has ended", 2*time.Second, 3)
		fl.NoteStores()
		after("stores may come at any time", 2*time.Second, 5)
		if err := fl.End(d); err != nil {
			t.Error(err)
		}
		after("the end", time.Minute, 6)
	})
}

// A copy that is not late does not wait for a flush in progress.
func TestFlusher_LateBesideFlush(t *testing.T) {
	t.Parallel()
	flushing, goOn := make(chan struct{}), make(chan struct{})
	d := new(disk)
	fl := New(d, 1, 0, func(*disk) error { close(flushing); <-goOn; return nil })
	var all sync.WaitGroup
	all.Go(func() { write(fl, d, 1, func() (int, error) { return 1, nil }) })
	<-flushing
	if fl.Late() { // with a lock of the flush it would hang
		t.Error("late before the end")
	}
	close(goOn)
	all.Wait()
}

// Whatever writes, Sync and the close of the file do beside each other: of the writes that have returned, fewer bytes than
// the limit are not durable.
func TestFlusher_AtTheSameTime(t *testing.T) {
	t.Parallel()
	for round := range 500 {
		d := new(disk)
		limit, last := 1+int64(round%3), int64(round%11) // writes before the file is closed
		yield := func() {
			for range rand.IntN(8) {
				runtime.Gosched()
			}
		}
		flush := func(d *disk) error {
			yield()
			err := d.flush()
			yield() // others write, and wait for this flush
			return err
		}
		fl := New(d, limit, 0, flush)
		var returned []int64 // the writes that have, and are not durable
		closed := false
		one := func() (n int64, err error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			if closed {
				return 0, os.ErrClosed
			}
			d.written++
			return d.written, nil
		}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				for {
					var n int64
					var err error
					write(fl, d, 1, func() (int, error) {
						n, err = one()
						return 1, err
					})
					if err != nil {
						return
					}
					d.mu.Lock()
					returned = slices.DeleteFunc(append(returned, n), func(n int64) bool { return n <= d.saved })
					if int64(len(returned)) >= limit {
						t.Errorf("round %d: writes %d have returned, %d of %d are durable, and the limit is %d bytes", round, returned, d.saved, d.written, limit)
					}
					d.mu.Unlock()
					yield()
				}
			})
		}
		all.Go(func() {
			yield()
			fl.Sync(func() error { return flush(d) })
		})
		for made := int64(0); made < last; {
			runtime.Gosched()
			d.mu.Lock()
			made = d.written
			d.mu.Unlock()
		}
		release := fl.KeepOut()
		d.mu.Lock()
		closed = true
		d.mu.Unlock()
		if err := fl.End(d); err != nil || d.unsaved() > 0 {
			t.Errorf("round %d: %v, and %d bytes are not durable after the end", round, err, d.unsaved())
		}
		release()
		all.Wait()
	}
}

func TestFlusher_KeepOut(t *testing.T) {
	t.Parallel()
	d := new(disk)
	fl := New(d, 0, 0, (*disk).flush)
	var released atomic.Bool
	called, wrote := make(chan struct{}), make(chan struct{})
	go write(fl, d, 1, func() (int, error) { close(called); <-wrote; return 1, nil })
	<-called
	time.AfterFunc(time.Millisecond, func() { close(wrote) })
	release := fl.KeepOut() // waits until that is counted
	if fl.Pending() != 1 {
		t.Error("a write that has returned is not counted")
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			write(fl, d, 1, func() (int, error) {
				if !released.Load() {
					t.Error("a write was not kept out")
				}
				return 1, nil
			})
		})
	}
	for range 1000 {
		runtime.Gosched()
	}
	released.Store(true)
	release()
	all.Wait()
}
