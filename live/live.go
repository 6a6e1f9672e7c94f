package live

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/live/internal/lease"
)

// Options configure a Value. The zero value is ready to use.
type Options[T any] struct {
	// Interval is the time between two looks at the file. 0 means a second. If it is negative,
	// only Refresh looks.
	Interval time.Duration

	// Settle is how long a new version must be unchanged before it is loaded, so that a file that
	// is still being written is not. 0 means Interval. If it is negative, a new version is loaded
	// at once, as Open and Refresh do.
	Settle time.Duration

	// Copy loads each version from a copy of the file. It is for writers that do not rename, for
	// network file systems, and for Windows, where no program can replace a file that is open. The
	// copy is in [os.TempDir], and is removed with its version; once it is complete it has no name
	// there, except on Windows.
	Copy bool

	// File says how the file of each version is opened, for reading only.
	File mmapfile.Options

	// Release, if not nil, is called once for each value that load has returned without an error,
	// after its last Use and before its File is closed, also for a version that was never used. It
	// runs on the goroutine of the Value, under the Guard of the File.
	Release func(T)

	// OnError, if not nil, is called with the error of a look, or of Release, if it differs from
	// the previous one. It may be called from several goroutines.
	OnError func(error)
}

// Value is what load has made of the current version of a file. Its methods may be called from
// any number of goroutines.
//
// Methods may also be called inside Use, load, OnError and Release. There, Close does not wait
// for anything, and Refresh returns an error if another look is in progress. These functions
// must not wait for another goroutine that calls one of the two.
type Value[T any] struct {
	state *state[T] // apart, so that a Value that was not closed can be collected
}

// state is all of a Value. Its goroutine refers to it.
type state[T any] struct {
	name    string
	load    func(*mmapfile.File) (T, error)
	options Options[T] // with its defaults

	current lease.Current[version[T]]

	looking   sync.Mutex                 // taken before mu; load runs under it
	latest    *lease.Version[version[T]] // the current one until Close
	taken     stamp                      // of latest
	candidate candidate

	mu     sync.Mutex // no function of the caller runs under it
	status Status
	closed bool                         // no look takes a version any more
	ended  bool                         // after closed: no version is current
	unused []*lease.Version[version[T]] // to be released

	wake    chan struct{} // there is something in unused, or ended is set
	drained func()        // closes idle
	idle    chan struct{} // closed once all is released after Close that is not in use
}

type version[T any] struct {
	value  T
	file   *mmapfile.File
	remove string // the name of a copy that the system did not remove while it was open
}

// Status describes a Value.
type Status struct {
	Since   time.Time // when the current version was loaded
	ModTime time.Time // modification time of its file then
	Size    int64     // and the size, in bytes

	Looked time.Time // when the name was last looked at
	Err    error     // why the current version is not the file of that name, or the error of Release; nil after a success

	Taken int64 // versions that were loaded and became current
	Open  int   // versions whose file is open: the current one, earlier ones in use, one being loaded
}

// Open is [Options.Open] with the zero Options.
func Open[T any](name string, load func(*mmapfile.File) (T, error)) (*Value[T], error) {
	return Options[T]{}.Open(name, load)
}

// Open opens the file name, makes a value of it with load, and does so again for each later
// version of the file. If the first version cannot be opened or loaded, Open returns the
// error.
//
// load runs under the Guard of its File, so a page fault in it is an error. It may keep memory
// of the File in the value, and must not close the File. Later versions are loaded on the
// goroutine of the Value, or by Refresh. A panic of load continues in the caller of Open or
// Refresh, and is an error on the goroutine of the Value.
func (o Options[T]) Open(name string, load func(*mmapfile.File) (T, error)) (*Value[T], error) {
	switch {
	case o.Interval == 0:
		o.Interval = time.Second
	case o.Interval < 0:
		o.Interval = math.MaxInt64 // never
	}
	if o.Settle == 0 {
		o.Settle = o.Interval
	}
	s := &state[T]{name: name, load: load, options: o, wake: make(chan struct{}, 1), idle: make(chan struct{})}
	s.current.Free = s.retire
	s.drained = sync.OnceFunc(func() { close(s.idle) })
	s.looking.Lock() // the first look is this one
	go s.run()
	loaded := false
	defer func() {
		s.looking.Unlock()
		if !loaded { // also by a panic
			s.close(!inCallback())
		}
	}()
	if _, err := s.look(-1); err != nil {
		return nil, err
	}
	loaded = true
	v := &Value[T]{s}
	runtime.AddCleanup(v, func(s *state[T]) { s.close(false) }, s)
	return v, nil
}

// Use calls fn with the value of the current version, which is not released until fn returns.
// fn runs under the Guard of the File: a page fault in its memory, for example because the
// file was truncated in place, makes Use return an error. An error of fn is returned
// unchanged. After Close, Use fails with [os.ErrClosed] and does not call fn.
//
// Memory of the version must not be used after fn returns, nor by another goroutine that fn
// starts. A Use inside Use may get a later version, so pass the value on. Use waits for no
// load, Release or other Use, and does not allocate.
func (v *Value[T]) Use(fn func(T) error) error {
	s := v.state
	u, counter := s.current.Enter()
	runtime.KeepAlive(v) // so that it is not closed as unreachable before
	if u == nil {
		return s.fail("use", os.ErrClosed)
	}
	defer s.current.Leave(u, counter)
	return u.Value.file.Guard(func() error { return fn(u.Value.value) })
}

// Refresh looks at the name now. If another version of the file has it, Refresh loads that
// version, without waiting until it has settled, and changed is true. If it cannot, the
// current version stays, and the error says why. It waits for a look in progress, except
// inside a function of the Value, and on a goroutine that has called [debug.SetPanicOnFault]
// itself.
func (v *Value[T]) Refresh() (changed bool, err error) {
	defer runtime.KeepAlive(v) // so that it is not closed as unreachable during its last call
	s := v.state
	changed, news, err := s.refresh(!inCallback())
	s.tell(news)
	return changed, err
}

// Status returns the state of v. After Close, only what releases the last versions changes it.
func (v *Value[T]) Status() Status {
	s := v.state
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Close ends the Value. A Use in progress keeps its version, which is released after it. All
// other versions are released, and their files closed, when Close returns: it waits for a load
// or Release in progress whenever Refresh would. A second Close fails with
// [os.ErrClosed].
//
// A Value that is not closed is closed once it is unreachable, if none of its functions refers
// to it.
func (v *Value[T]) Close() error { return v.state.close(!inCallback()) }

func (s *state[T]) close(wait bool) error {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	if was {
		return s.fail("close", os.ErrClosed)
	}
	s.current.End()
	s.mu.Lock()
	s.ended = true // only now, so that the goroutine does not miss the version that was current
	s.mu.Unlock()
	s.notify()
	if wait {
		<-s.idle
	}
	return nil
}

func (s *state[T]) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *state[T]) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// inCallback reports whether this goroutine may be in a function of the caller that a Value has
// called, where to wait for the Value could be for ever. All of them run under a Guard, or as if
// under one, and Guard sets this flag of the goroutine. If the caller has set it otherwise, calls
// only wait less.
func inCallback() bool {
	on := debug.SetPanicOnFault(false)
	debug.SetPanicOnFault(on)
	return on
}

// note notes the result of a look, and returns it if it is another error than before. It is called
// with looking held if the look was, so that the last look has the last word.
func (s *state[T]) note(err error) (news error) {
	if err == errSettling || errors.Is(err, os.ErrClosed) && s.isClosed() {
		return nil // not about the file
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.status.Err
	s.status.Err = err
	if err == nil || was != nil && was.Error() == err.Error() {
		return nil
	}
	return err
}

// tell calls OnError with what note has returned. Called with no lock held.
func (s *state[T]) tell(news error) {
	if news != nil && s.options.OnError != nil {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // see inCallback
		s.options.OnError(news)
	}
}

func (s *state[T]) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: s.name, Err: err}
}
