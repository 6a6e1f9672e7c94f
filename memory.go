package mmapfile

import (
	"cmp"
	"fmt"
	"iter"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"go.dw1.io/mmapfile/internal/file"
)

// What a File has beyond os.File.

// OS returns the inner file, for an API that takes nothing else ([os/exec.Cmd], net.FileConn), or
// nil if f is nil. It has the effects of [File.Fd]. The inner file belongs to f: closing f closes
// it, and truncating it counts as truncation by another program.
//
// Closing the inner file does not close f, which the caller closes as well. f detects it in its
// next system call, and in Stat, Sync, Close, View and Bytes. From then on all calls fail with
// [os.ErrClosed], and the mapping is gone. Before that, ReadAt still reads from the mapping.
func (f *File) OS() *os.File {
	if f == nil {
		return nil
	}
	return f.file.OS()
}

// Len returns the file's length in bytes as last known, or 0 if f is nil or not a regular file.
// It makes a system call only the first time, and after an append or a ReadFrom by the kernel.
// Changes by other processes are seen by [File.Stat], and by Len only after the next read that
// meets the end.
func (f *File) Len() int64 {
	if f == nil {
		return 0
	}
	return f.file.Len()
}

// View calls fn with the n bytes of the file at off, in place: p is valid until fn returns. fn
// may call methods of f. If the range extends past the end of the file, View returns [io.EOF] and
// does not call fn.
//
// A fault in p on the goroutine of fn ends fn, and View fails: with [io.ErrUnexpectedEOF] after a
// truncation, with [fs.ErrPermission] for a store into a file not open for writing, otherwise
// with [os.ErrClosed] or the system's error, such as ENOSPC. Any other panic of fn continues. A
// fault inside the Go runtime ends the process: copy a value of p before sending it to a channel.
//
// An error of fn is returned unchanged. All others, except io.EOF, are *[fs.PathError] with Op
// "view". A negative off or n fails with [fs.ErrInvalid], and a file that cannot be mapped with
// [errors.ErrUnsupported].
func (f *File) View(off, n int64, fn func(p []byte) error) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.file.View(off, n, fn)
}

// Bytes returns the whole file as one slice, whose length and capacity are the present length of
// the file. It maps the file if necessary. It returns nil if the file is empty, closed or cannot
// be mapped.
//
// The memory is the file's own: a store changes the file, and faults if the file is open for
// reading only. The slice is valid until [File.Close], while f is reachable
// ([runtime.KeepAlive]), and does not grow with the file. An access to a part that any program
// has truncated ends the process: see [File.View] and [File.Guard].
//
// Code that looks for a method Bytes of an [io.Reader], such as s2.Writer of klauspost/compress,
// takes f for a buffer: pass struct{ io.Reader }{f} instead. On a platform without mappings, the
// slice is a copy, which Sync, Close and each system call on the file write back.
func (f *File) Bytes() []byte {
	if f == nil {
		return nil
	}
	return f.file.Bytes()
}

// Chunks returns an iterator over the file in windows of size bytes; the last one may be shorter.
// It panics if size is less than 1, as [slices.Chunk] does. It includes what is appended during
// the iteration. Several goroutines may use the iterator.
//
// An error ends the iteration, with the zero Chunk. It is the error of [File.ReadAt] at this
// offset, for example [os.ErrClosed] after Close, or that of a directory.
//
// The windows are the file's own memory, as for [File.Bytes]. A fault in the body of the loop, on
// its own goroutine, is a panic with a [runtime.Error] that may be recovered; elsewhere it ends
// the process. [File.View] returns an error instead. If the file cannot be mapped, each window is
// a copy, in which stores are lost. A copy of more than 1 GiB, or 128 MiB on 32-bit systems, or
// 64 MiB if the address space has no room for the mapping, fails with [errors.ErrUnsupported] and
// Op "chunks".
func (f *File) Chunks(size int) iter.Seq2[Chunk, error] {
	chunks := f.engine().Chunks(size)
	return func(yield func(Chunk, error) bool) {
		chunks(func(c file.Chunk, err error) bool { return yield(Chunk(c), err) })
	}
}

// Guard calls fn and turns a fault in memory of f into an error. fn may use all memory that f has
// ever exposed: what [File.Bytes], [File.Chunks], [At] and [SliceAt] have returned. Guard is for
// code that keeps such memory and cannot use [File.View].
//
// If the memory faults on the goroutine that called Guard, the fault ends fn, and Guard fails
// with the errors of View and Op "guard". A mutex that fn has locked stays locked, unless fn
// defers the unlock, and a map that fn was writing must not be used again. Any other panic of fn
// continues. A fault inside the Go runtime ends the process, as in View.
//
// If f is closed, Guard fails with [os.ErrClosed], and does not call fn. An error of fn is
// returned unchanged. Guard does not allocate, and calls of Guard may be nested.
func (f *File) Guard(fn func() error) (err error) {
	if f == nil {
		return os.ErrInvalid
	}
	return f.file.Guard(fn)
}

// Advise tells the system how the n bytes at off, up to the end of the file, will be used. It
// maps the file if necessary, except for WillNeed. A file that has grown much needs new advice.
//
// An error is a *[fs.PathError] with Op "advise". Advise fails with [errors.ErrUnsupported] if
// the platform or the file has no such advice, [fs.ErrInvalid] for a wrong argument,
// [fs.ErrPermission] for PopulateWrite if the file is not open for writing, [io.ErrUnexpectedEOF]
// after a truncation meanwhile, [os.ErrClosed], or the system's error, such as ENOSPC.
func (f *File) Advise(off, n int64, a Advice) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.file.Advise(off, n, int(a))
}

// LockMemory keeps the n bytes at off in memory until [File.UnlockMemory] or Close. It maps the
// file if necessary. It locks whole pages, including those that are partly in the range, up to
// the end of the file. A file that has grown must be locked again. Locks do not nest: one call
// unlocks what was locked twice.
//
// An error is a *[fs.PathError] with Op "lock". LockMemory fails with [fs.ErrInvalid] for a
// negative off or n, [errors.ErrUnsupported] if the file cannot be mapped or the platform has no
// such call, [os.ErrClosed], or the system's error: over RLIMIT_MEMLOCK it is ENOMEM or EPERM
// (mlock(2)), and on Windows the working set is the limit (VirtualLock). After an error no page
// of the range is locked, not even those that an earlier call had locked.
func (f *File) LockMemory(off, n int64) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.file.LockMemory(off, n)
}

// UnlockMemory undoes [File.LockMemory] for the pages of the n bytes at off. Unlocking a page
// that is not locked does nothing. The errors are those of LockMemory, with Op "unlock".
func (f *File) UnlockMemory(off, n int64) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.file.UnlockMemory(off, n)
}

// Resident returns how many of the n bytes at off, up to the end of the file, are in memory at
// this moment. It neither loads nor evicts pages.
//
// An error is a *[fs.PathError] with Op "resident". Resident fails with [fs.ErrInvalid] for a
// negative off or n, [errors.ErrUnsupported] if f is not a regular file or the platform has no
// such call (Windows, OpenBSD, Solaris, AIX), [os.ErrClosed], or the system's error.
//
// On Linux 6.5 and later, Resident calls cachestat(2), which Linux refuses for some files to all
// but the owner or a writer (EPERM). Before 6.5, on overlayfs, and on other platforms, it calls
// mincore(2), which needs a mapping, and on Linux tells others that all is in memory.
func (f *File) Resident(off, n int64) (int64, error) {
	if f == nil {
		return 0, os.ErrInvalid
	}
	return f.file.Resident(off, n)
}

// SyncRange makes the n bytes at off durable, and the file's length if it is needed to read them.
// A crash of the system after that can lose the modification time, and what was written elsewhere
// in the file. Bytes past the end of the file are ignored.
//
// An error is a *[fs.PathError] with Op "sync". SyncRange fails with [fs.ErrInvalid] for a
// negative off or n, [os.ErrClosed], or the system's error. On a private File (see [Options]) it
// does nothing.
//
// On Linux, if the File is mapped and open for reading and writing, it calls msync(2) with
// MS_SYNC, which writes back the pages of the range, however they were changed, and waits for the
// disk as fsync(2) does. Otherwise it syncs the whole file.
func (f *File) SyncRange(off, n int64) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.file.SyncRange(off, n)
}

// At returns the T at the byte offset off of the file, in place, so that processes can share a
// [sync/atomic.Uint64]. The memory is the file's own, as for [File.Bytes], in the layout and byte
// order of this machine.
//
// If the file does not hold the whole T, At returns [io.EOF]. All other errors are
// *[fs.PathError] with Op "at". At fails with
//
//   - [fs.ErrInvalid] if off is negative or not aligned for T (64-bit numbers need 8), or if
//     T contains pointers or bools (use uint8)
//   - [fs.ErrPermission] for a type of sync or sync/atomic if the file is open for reading
//     only
//   - [errors.ErrUnsupported] if the file cannot be mapped, [os.ErrClosed], or the system's
//     error
func At[T any](f *File, off int64) (*T, error) {
	p, err := file.Typed(f.engine(), reflect.TypeFor[T](), off, 1)
	return (*T)(p), err
}

// SliceAt returns n values of type T at the byte offset off as one slice, in place, with capacity
// n. Its conditions and errors are those of [At], and a negative n fails with [fs.ErrInvalid]. If
// n is 0, the result is an empty slice, at any offset up to the end of the file.
func SliceAt[T any](f *File, off int64, n int) ([]T, error) {
	p, err := file.Typed(f.engine(), reflect.TypeFor[T](), off, n)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return []T{}, nil
	}
	return unsafe.Slice((*T)(p), n), nil
}

// Advice tells the system how memory will be used. See [File.Advise].
type Advice int

const (
	Normal     Advice = iota // cancels Sequential and Random
	Sequential               // read ahead further, and drop pages sooner after use
	Random                   // read only the page of a fault; it slows down writing
	// WillNeed starts to read the first 32 MiB of the range into memory, and does not wait. A
	// longer range needs a call for each 32 MiB. It maps nothing, and on Linux skips holes.
	WillNeed
	// DontNeed releases the pages of this mapping. The file and the page cache stay.
	// Locked pages must be unlocked first.
	DontNeed
	HugePages // use huge pages, if the file system has them
	// PopulateRead reads the range into memory and maps it, and waits. It slows down writing.
	PopulateRead
	// PopulateWrite is PopulateRead for stores. The pages become dirty, so the file gets its
	// blocks and the next Sync writes the whole range. Pages of a private File are copied.
	PopulateWrite
)

var adviceNames = [...]string{
	Normal: "Normal", Sequential: "Sequential", Random: "Random", WillNeed: "WillNeed", DontNeed: "DontNeed",
	HugePages: "HugePages", PopulateRead: "PopulateRead", PopulateWrite: "PopulateWrite",
}

// String returns the name of the constant, or "Advice(n)" for a value without one.
func (a Advice) String() string {
	if a < Normal || a > PopulateWrite {
		return "Advice(" + strconv.Itoa(int(a)) + ")"
	}
	return adviceNames[a]
}

// Chunk is a window of a file.
type Chunk struct {
	Offset int64
	Data   []byte
}

// FlushPolicy says when a File makes written bytes durable without a call of [File.Sync]. The
// zero value means never, as with [os.File]. A policy counts the writes of every method, and the
// bytes given to [File.View] of a file open for writing. Stores through Bytes, Chunks, At and
// SliceAt cannot be counted, and are part of the next flush.
//
// If a flush fails, the next call of Sync or Close returns its error. Close flushes what is left,
// and waits for that flush and for writes in progress. It does not wait for a ReadFrom in
// progress, which returns [os.ErrClosed] if its last bytes miss the final flush.
type FlushPolicy struct {
	// Bytes is the limit of unflushed data: fewer than this many bytes of returned writes are not
	// durable. The write that reaches the limit flushes the file before it returns.
	Bytes int64

	// Interval is the time between two flushes in the background. Everything older than Interval
	// plus one flush is durable.
	Interval time.Duration
}

// Stats are figures about all Files of the process, for a dashboard. Fields described with "now"
// are current values; the others are totals since the process began.
type Stats struct {
	MappedFiles   int64 // Files that are mapped now
	MappedBytes   int64 // address space of their mappings now
	ReservedBytes int64 // address space that closed Files keep now, until they are collected

	// SystemCalls counts reads and writes that were system calls, and Reasons says why. An open File adds
	// its calls in groups, so some hundred of each may be missing, and Close adds the last of them.
	SystemCalls uint64
	Reasons     SystemCalls

	Faults      uint64 // page faults caught: truncation by another process, a full disk, a failing device
	MajorFaults uint64 // major page faults of the process while Files were mapped, if the system counts them
	Prefaults   uint64 // ranges that were prefaulted for mapped writes
}

// ReadStats fills in s. It takes no lock, so the figures are not from one moment.
func ReadStats(s *Stats) {
	now := file.ReadStats()
	*s = Stats{
		MappedFiles:   now.MappedFiles,
		MappedBytes:   now.MappedBytes,
		ReservedBytes: now.ReservedBytes,
		Reasons:       SystemCalls(now.SystemCalls),
		Faults:        now.Faults,
		MajorFaults:   now.MajorFaults,
		Prefaults:     now.Prefaults,
	}
	s.SystemCalls = s.Reasons.Total()
}

// SystemCalls counts the reads and writes that were system calls, by reason. Calls that
// moved no bytes, copies by the kernel, and calls of a private File do not count, and some calls that are
// made at the same time may be missing, for a moment or for good. docs/where-it-pays.md says what to do about each reason.
type SystemCalls struct {
	First      uint64 // the first 31 or 32 of each File, before its pages are recorded
	Unseen     uint64 // of bytes that the File had not read or written before
	Unmapped   uint64 // of bytes used before, in a File that is mapped after 8 such calls
	Seldom     uint64 // of bytes used before, in 64 KiB with fewer than 2 such reads, or too few writes since the last Sync or Stat
	Unpaid     uint64 // of bytes used before, or not looked at, while saved calls have not paid for earlier trials of the process
	Unproven   uint64 // of bytes whose memory did not prove that the file still has them: a last page of zeros, or blocks with holes
	Slower     uint64 // reads of 16 KiB and more that take longer from memory, and one of 256, of any length, that finds out
	PastEnd    uint64 // reads that met the end of the file, and writes past it
	HandedOut  uint64 // writes, and calls at the cursor, once Fd, SyscallConn, OS, New or NewFile share the descriptor
	Storage    uint64 // on a network file system, FUSE, overlayfs, /proc or Windows, without Options.Immutable
	Unmappable uint64 // no mapping can serve such calls: a pipe, O_WRONLY, writes with O_APPEND, a system without mappings
}

// Total returns the number of all system calls.
func (c SystemCalls) Total() uint64 {
	return c.First + c.Unseen + c.Unmapped + c.Seldom + c.Unpaid + c.Unproven + c.Slower + c.PastEnd + c.HandedOut + c.Storage + c.Unmappable
}

// String returns the reasons that are not 0, the most frequent one first: "Unseen 969, First 31".
func (c SystemCalls) String() string {
	v := reflect.ValueOf(c)
	var reasons []int
	for i := range v.NumField() {
		if v.Field(i).Uint() > 0 {
			reasons = append(reasons, i)
		}
	}
	slices.SortStableFunc(reasons, func(i, j int) int { return cmp.Compare(v.Field(j).Uint(), v.Field(i).Uint()) })
	var text strings.Builder
	for k, i := range reasons {
		if k > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%s %d", v.Type().Field(i).Name, v.Field(i).Uint())
	}
	return text.String()
}

// SystemCalls returns the counts for f so far, also after Close.
func (f *File) SystemCalls() SystemCalls {
	if f == nil {
		return SystemCalls{}
	}
	return SystemCalls(f.file.SystemCalls())
}
