package lease

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile/internal/filetest"
)

// content is a version of the tests.
type content struct {
	number int
	freed  atomic.Int32
	used   int // read by users, and changed when it is freed: the race detector sees a mistake
}

// current returns a Current whose Free counts.
func current() *Current[content] {
	return &Current[content]{Free: func(v *Version[content]) {
		v.Value.freed.Add(1)
		v.Value.used--
	}}
}

// Users enter and leave, nested and not, while versions are replaced. None is freed under its user,
// and each is freed once.
func TestLeave_BesideReplace(t *testing.T) {
	t.Parallel()
	filetest.NeedThreads(t)
	c := current()
	first := new(Version[content])
	c.Replace(nil, first)
	all := []*Version[content]{first}
	var stop atomic.Bool
	var users sync.WaitGroup
	for i := range 8 {
		users.Go(func() {
			sum := 0
			for !stop.Load() {
				v, counter := c.Enter()
				if i%2 == 0 {
					runtime.Gosched()
				}
				inner, innerCounter := c.Enter()
				if inner.Value.number < v.Value.number {
					t.Error("a later user got an earlier version")
				}
				sum += v.Value.used + inner.Value.used
				if v.Value.freed.Load() != 0 || inner.Value.freed.Load() != 0 {
					t.Error("freed under its user")
				}
				c.Leave(inner, innerCounter)
				c.Leave(v, counter)
			}
			filetest.LoadSink.Add(uint32(sum))
		})
	}
	for n := range filetest.Iterations(8000) {
		next := &Version[content]{Value: content{number: n + 1}}
		if !c.Replace(all[n], next) {
			t.Error("not replaced")
		}
		all = append(all, next)
		if n%64 == 0 {
			runtime.Gosched()
		}
	}
	stop.Store(true)
	users.Wait()
	c.End()
	for _, v := range all {
		if n := v.Value.freed.Load(); n != 1 {
			t.Fatalf("version %d was freed %d times", v.Value.number, n)
		}
	}
}

// A version that is replaced under several users is freed by the last of them.
func TestLeave_LastUser(t *testing.T) {
	t.Parallel()
	c := current()
	old, next := new(Version[content]), new(Version[content])
	if v, _ := c.Enter(); v != nil {
		t.Error("a user got a version before there was one")
	}
	c.Replace(nil, old)
	_, one := c.Enter()
	_, two := c.Enter()
	if c.Replace(nil, next) || !c.Replace(old, next) {
		t.Fatal("Replace did not compare")
	}
	c.Leave(old, one)
	if old.Value.freed.Load() != 0 {
		t.Error("freed under its user")
	}
	c.Leave(old, two)
	if old.Value.freed.Load() != 1 || next.Value.freed.Load() != 0 {
		t.Error("not freed by the last user")
	}
	c.End()
	c.End()
	if v, _ := c.Enter(); v != nil || next.Value.freed.Load() != 1 {
		t.Error("not ended")
	}
}

// A user that was late, between its two looks, frees a version that only it keeps, and no user
// gets what was replaced.
func TestEnter_Late(t *testing.T) {
	t.Parallel()
	for counter := range counters {
		c := current()
		old, next := new(Version[content]), new(Version[content])
		c.Replace(nil, old)
		old.users[counter].n.Add(1) // the first half of Enter
		c.Replace(old, next)
		if old.Value.freed.Load() != 0 {
			t.Error("freed under a user that may have looked before")
		}
		c.Leave(old, counter) // the other half, if it finds another version
		if old.Value.freed.Load() != 1 {
			t.Error("not freed")
		}
	}
}
