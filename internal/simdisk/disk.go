//go:build linux

package simdisk

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"go.dw1.io/mmapfile/internal/logdisk"
)

const (
	pageSize   = 4096
	sectorSize = 512      // what a crash does not tear
	maxFile    = 64 << 10 // the memory of a file stays where it is, so it has a fixed capacity
)

// Disk is the file system of a World. A page is dirty if a call has written it, or if it differs from the
// copy that was made when it last counted as clean.
type Disk struct {
	w      *World
	root   *inode
	inodes []*inode

	Free  int // blocks that can be allocated
	Fails map[Failure]int

	FlushFailures int // flushes that have lost pages

	NoMemory bool // files are not mapped
	Evicts   bool // clean pages are dropped at any time
	LoseAll  bool // a flush that fails loses all pages
	Hang     bool // a flush of a file does not return

	SlowNames time.Duration // listing a directory takes up to this long
}

// Failure is a kind of call that fails with a probability: Fails has how many of 256.
type Failure int

const (
	FailFlush     Failure = iota // a flush loses pages, which count as clean from then on
	FailRead                     // EIO
	FailOpen                     // EMFILE
	FailSyncNames                // EIO
	FailName                     // EIO of calls by name
	FailWrite                    // EIO, and nothing is written
)

// inode is a file or a directory.
type inode struct {
	mode  fs.FileMode
	mtime time.Time
	names int // links
	opens int // open files

	// A directory has names now, as the disk has them, and the changes that the disk lacks.
	entries, stored map[string]*inode
	changes         []change

	// mem is the page cache, clean a copy of pages when they last counted as clean, disk what a crash keeps.
	mem, clean, disk []byte
	size, top        int64    // top is the largest size so far, to the end of its page
	sizes            []length // since the last flush that did not fail; the last is size
	pages            [maxFile / pageSize]pageState
	errSeq           int  // failures of flushes
	errSeen          bool // an open file was told of the last
	locked           *handle
}

type pageState struct {
	written bool // by a call, so it is dirty
	block   bool // allocated
	stored  bool // the disk has it
	broken  bool // a flush has lost it before the disk had it: until it is truncated or dropped, none writes it (ext4)
}

// length is one that a file had, with what it had after the next, if that is shorter.
type length struct {
	size int64
	tail []byte
}

// change is one of a directory, which the disk has whole or not at all.
type change map[string]*inode

func (d *Disk) init(w *World) {
	d.w, d.Free, d.Fails = w, 1<<30, map[Failure]int{}
	d.root = newDir()
	d.root.names = 1
}

func newDir() *inode {
	return &inode{mode: fs.ModeDir | 0o777, entries: map[string]*inode{}, stored: map[string]*inode{}}
}

// buffers are three times the capacity of a file, aligned, and zeros up to where they were used.
var buffers = sync.Pool{New: func() any {
	words := make([]uint64, 3*maxFile/8)
	return (*byte)(unsafe.Pointer(unsafe.SliceData(words)))
}}

func (d *Disk) newFile() *inode {
	b := unsafe.Slice(buffers.Get().(*byte), 3*maxFile)
	n := &inode{mode: 0o666, mem: b[:maxFile:maxFile], clean: b[maxFile : 2*maxFile : 2*maxFile], disk: b[2*maxFile:], sizes: []length{{}}}
	d.inodes = append(d.inodes, n)
	return n
}

// Release gives the memory of all files back. The world ends with it.
func (d *Disk) Release() {
	for _, n := range d.inodes {
		for _, b := range [][]byte{n.mem, n.clean, n.disk} {
			clear(b[:n.top])
		}
		buffers.Put(unsafe.SliceData(n.mem))
	}
	d.inodes = nil
}

func (d *Disk) fails(f Failure) bool { return d.Fails[f] > 0 && d.w.Rand.IntN(256) < d.Fails[f] }

// step may write back a page, or drop a clean one, which then reads as the disk has it. The first page of a file
// stays, as one that is used all the time.
func (d *Disk) step() {
	if len(d.inodes) == 0 || d.w.Rand.IntN(8) > 0 {
		return
	}
	n := d.inodes[d.w.Rand.IntN(len(d.inodes))]
	if n.size > 0 {
		if p := d.w.Rand.IntN(int(n.size+pageSize-1) / pageSize); n.dirty(p) {
			n.writeBack(p)
		} else if p > 0 && d.Evicts {
			n.evict(p)
		}
	}
}

func page(b []byte, p int) []byte { return b[p*pageSize : (p+1)*pageSize] }

func (n *inode) dirty(p int) bool {
	return n.pages[p].written || !bytes.Equal(page(n.mem, p), page(n.clean, p))
}

func (n *inode) writeBack(p int) {
	if !n.pages[p].broken {
		n.store(p*pageSize, (p+1)*pageSize)
		n.pages[p].stored = true
	}
	n.becomesClean(p)
}

// store writes a range of one page to the disk. If the page was truncated, and not removed, a crash that brings the length
// back does not bring back what the page had there.
func (n *inode) store(from, to int) {
	copy(n.disk[from:to], n.mem[from:to])
	for _, l := range slices.Backward(n.sizes) {
		if l.size <= int64(from/pageSize*pageSize) {
			break
		}
		start := int(l.size) - len(l.tail)
		if a, b := max(from, start), min(to, int(l.size)); a < b {
			copy(l.tail[a-start:], n.mem[a:b])
		}
	}
}

// lose marks a page clean that the disk does not have.
func (n *inode) lose(p int) {
	n.pages[p].broken = n.pages[p].broken || !n.pages[p].stored
	n.becomesClean(p)
}

func (n *inode) becomesClean(p int) {
	copy(page(n.clean, p), page(n.mem, p))
	n.pages[p].written = false
}

func perr(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// find returns a file, its directory, and its name there.
func (d *Disk) find(name string) (n, dir *inode, base string) {
	n = d.root
	for part := range strings.SplitSeq(strings.Trim(filepath.ToSlash(name), "/"), "/") {
		if part == "" {
			continue
		}
		if dir = n; dir == nil || dir.entries == nil {
			return nil, nil, ""
		}
		n, base = dir.entries[part], part
	}
	return n, dir, base
}

func (d *Disk) change(dir *inode, c change) {
	for name, n := range c {
		if old := dir.entries[name]; old != nil {
			old.names--
			d.drop(old)
		}
		if n == nil {
			delete(dir.entries, name)
		} else {
			dir.entries[name] = n
			n.names++
		}
	}
	dir.changes = append(dir.changes, c)
}

// drop releases the blocks of a file without a name, and not open.
func (d *Disk) drop(n *inode) {
	if n.names == 0 && n.opens == 0 && n.entries == nil {
		n.truncateBlocks(d, 0)
	}
}

func (n *inode) truncateBlocks(d *Disk, size int64) {
	for p := int(size+pageSize-1) / pageSize; p < len(n.pages); p++ {
		if n.pages[p].block {
			d.Free++
		}
		n.pages[p] = pageState{}
	}
}

// allocate gives blocks to a range.
func (n *inode) allocate(d *Disk, from, to int64) error {
	if to > maxFile {
		return syscall.ENOSPC
	}
	for p := int(from / pageSize); int64(p)*pageSize < to; p++ {
		if !n.pages[p].block {
			if d.Free <= 0 {
				return syscall.ENOSPC
			}
			d.Free--
			n.pages[p].block = true
		}
	}
	return nil
}

// info is the fs.FileInfo and fs.DirEntry of a file.
type info struct {
	name string
	n    *inode
	size int64
}

func (i info) Name() string               { return i.name }
func (i info) Size() int64                { return i.size }
func (i info) Mode() fs.FileMode          { return i.n.mode }
func (i info) ModTime() time.Time         { return i.n.mtime }
func (i info) IsDir() bool                { return i.n.mode.IsDir() }
func (i info) Sys() any                   { return i.n }
func (i info) Type() fs.FileMode          { return i.n.mode.Type() }
func (i info) Info() (fs.FileInfo, error) { return i, nil }

// enter begins a call by name.
func (d *Disk) enter(op, name string) error {
	if !d.w.step() {
		return perr(op, name, os.ErrClosed)
	}
	d.w.trace(op, name)
	if d.w.cur.p != d.w.loose && d.fails(FailName) {
		return perr(op, name, syscall.EIO)
	}
	return nil
}

func (d *Disk) Stat(name string) (fs.FileInfo, error) {
	if err := d.enter("stat", name); err != nil {
		return nil, err
	}
	n, _, _ := d.find(name)
	if n == nil {
		return nil, perr("stat", name, syscall.ENOENT)
	}
	return info{filepath.Base(name), n, n.size}, nil
}

func (d *Disk) Lstat(name string) (fs.FileInfo, error) { return d.Stat(name) }
func (d *Disk) SameFile(a, b fs.FileInfo) bool         { return a.Sys() == b.Sys() }

func (d *Disk) RealPath(name string) (string, error) {
	if _, err := d.Stat(name); err != nil {
		return "", err
	}
	return name, nil
}

func (d *Disk) ReadDir(name string) (list []fs.DirEntry, err error) {
	if err := d.enter("open", name); err != nil {
		return nil, err
	}
	if d.SlowNames > 0 {
		d.w.Wait(func() bool { return false }, d.w.now.Add(time.Duration(d.w.Rand.Int64N(int64(d.SlowNames)))))
	}
	n, _, _ := d.find(name)
	if n == nil || n.entries == nil {
		return nil, perr("open", name, syscall.ENOENT)
	}
	for name, n := range n.entries {
		list = append(list, info{name, n, n.size})
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

func (d *Disk) Mkdir(name string, _ fs.FileMode) error {
	if err := d.enter("mkdir", name); err != nil {
		return err
	}
	n, dir, base := d.find(name)
	switch {
	case dir == nil:
		return perr("mkdir", name, syscall.ENOENT)
	case n != nil:
		return perr("mkdir", name, syscall.EEXIST)
	case d.Free <= 0:
		return perr("mkdir", name, syscall.ENOSPC)
	}
	d.change(dir, change{base: newDir()})
	return nil
}

func (d *Disk) Rename(from, to string) error {
	if err := d.enter("rename", from); err != nil {
		return err
	}
	n, dir, base := d.find(from)
	old, toDir, toBase := d.find(to)
	switch {
	case n == nil || toDir == nil:
		return perr("rename", from, syscall.ENOENT)
	case old != nil && old.mode.IsDir():
		return perr("rename", from, syscall.EEXIST)
	}
	n.names++ // it keeps its blocks
	if dir == toDir {
		d.change(dir, change{base: nil, toBase: n})
	} else {
		d.change(toDir, change{toBase: n})
		d.change(dir, change{base: nil})
	}
	n.names--
	return nil
}

func (d *Disk) Remove(name string) error {
	if err := d.enter("remove", name); err != nil {
		return err
	}
	n, dir, base := d.find(name)
	switch {
	case n == nil:
		return perr("remove", name, syscall.ENOENT)
	case len(n.entries) > 0:
		return perr("remove", name, syscall.ENOTEMPTY)
	}
	d.change(dir, change{base: nil})
	return nil
}

func (d *Disk) OpenFile(name string, flag int, _ fs.FileMode) (logdisk.File, error) {
	if err := d.enter("open", name); err != nil {
		return nil, err
	}
	if d.w.cur.p != d.w.loose && d.fails(FailOpen) {
		return nil, perr("open", name, syscall.EMFILE)
	}
	n, dir, base := d.find(name)
	switch {
	case n != nil && flag&os.O_EXCL != 0:
		return nil, perr("open", name, syscall.EEXIST)
	case n == nil && (flag&os.O_CREATE == 0 || dir == nil):
		return nil, perr("open", name, syscall.ENOENT)
	case n == nil && d.Free <= 0:
		return nil, perr("open", name, syscall.ENOSPC)
	case n == nil:
		n = d.newFile()
		d.change(dir, change{base: n})
	}
	h := &handle{d: d, n: n, name: name, p: d.w.cur.p, sync: flag&syscall.O_DSYNC != 0, errSeq: n.errSeq, writes: flag&(os.O_RDWR|os.O_WRONLY) != 0}
	if !n.errSeen && n.errSeq > 0 {
		h.errSeq-- // it was told to no open file yet
	}
	n.opens++
	h.p.files[h] = true
	if flag&os.O_TRUNC != 0 {
		n.setSize(d, 0)
	}
	return h, nil
}

func (n *inode) setSize(d *Disk, size int64) {
	if n.size == size {
		return
	}
	if size < n.size {
		n.sizes[len(n.sizes)-1].tail = bytes.Clone(n.disk[size:n.size])
		for _, b := range [][]byte{n.mem, n.clean, n.disk} {
			clear(b[size:n.size])
		}
		n.truncateBlocks(d, size)
	}
	n.size, n.top = size, max(n.top, (size+pageSize-1)/pageSize*pageSize)
	n.mtime = d.w.now
	n.sizes = append(n.sizes, length{size: size})
}

// handle is an open file.
type handle struct {
	d      *Disk
	n      *inode
	p      *Process
	name   string
	sync   bool // O_DSYNC
	writes bool
	mapped bool
	closed bool
	errSeq int
}

func (h *handle) close() {
	h.closed = true
	if h.n.locked == h {
		h.n.locked = nil
	}
	h.n.opens--
	h.d.drop(h.n)
	delete(h.p.files, h)
}

func (h *handle) enter(op string) error {
	if h.closed || !h.d.w.step() || h.closed {
		return perr(op, h.name, os.ErrClosed)
	}
	h.d.w.trace(op, h.name)
	return nil
}

func (h *handle) Name() string { return h.name }

func (h *handle) Stat() (fs.FileInfo, error) {
	if err := h.enter("stat"); err != nil {
		return nil, err
	}
	return info{filepath.Base(h.name), h.n, h.n.size}, nil
}

func (h *handle) Length() (int64, error) {
	if err := h.enter("stat"); err != nil {
		return 0, err
	}
	return h.n.size, nil
}

func (h *handle) Close() error {
	if err := h.enter("close"); err != nil {
		return err
	}
	h.close()
	return nil
}

func (h *handle) ReadAt(p []byte, off int64) (int, error) {
	if err := h.enter("read"); err != nil {
		return 0, err
	}
	if h.p != h.d.w.loose && h.d.fails(FailRead) {
		return 0, perr("read", h.name, syscall.EIO)
	}
	return readAt(h.n.mem[:h.n.size], p, off)
}

func readAt(b, p []byte, off int64) (int, error) {
	if off >= int64(len(b)) {
		return 0, io.EOF
	}
	n := copy(p, b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h *handle) WriteAt(p []byte, off int64) (int, error) {
	if err := h.enter("write"); err != nil {
		return 0, err
	}
	n := h.n
	if h.p != h.d.w.loose && h.d.fails(FailWrite) {
		return 0, perr("write", h.name, syscall.EIO)
	}
	if err := n.allocate(h.d, off, off+int64(len(p))); err != nil {
		return 0, perr("write", h.name, err)
	}
	copy(n.mem[off:], p)
	for i := int(off / pageSize); int64(i)*pageSize < off+int64(len(p)); i++ {
		n.pages[i].written = true
	}
	if end := off + int64(len(p)); end > n.size {
		n.setSize(h.d, end)
	}
	if h.sync {
		return len(p), h.flush(0, maxFile)
	}
	return len(p), nil
}

func (h *handle) Truncate(size int64) error {
	if err := h.enter("truncate"); err != nil {
		return err
	}
	if size > maxFile {
		return perr("truncate", h.name, syscall.EFBIG)
	}
	h.n.setSize(h.d, size)
	return nil
}

func (h *handle) Allocate(from, to int64) error {
	if err := h.enter("fallocate"); err != nil {
		return err
	}
	if err := h.n.allocate(h.d, from, to); err != nil {
		return err
	}
	if to > h.n.size {
		h.n.setSize(h.d, to)
	}
	return nil
}

func (h *handle) Memory() []byte {
	if h.d.NoMemory || h.closed {
		return nil
	}
	h.mapped = true
	return h.n.mem[:h.n.size:h.n.size]
}

func (h *handle) Resident(_, n int64) (int64, error) {
	if h.d.w.Rand.IntN(4) == 0 {
		return 0, nil
	}
	return n, nil
}

func (h *handle) ReadAhead(_, _ int64) {}

func (h *handle) Flush() error                  { return h.flush(0, maxFile) }
func (h *handle) FlushData() error              { return h.flush(0, maxFile) }
func (h *handle) FlushRange(off, n int64) error { return h.flush(off, n) }

// flush writes back dirty pages, all, some or none, and tells of failures since the last call.
func (h *handle) flush(off, count int64) error {
	if err := h.enter("sync"); err != nil {
		return err
	}
	h.d.w.Wait(func() bool { return !h.d.Hang }, time.Time{})
	n, failed := h.n, h.d.fails(FailFlush)
	lose, lost := 0, false
	if failed {
		if lose = []int{1, 2, 4}[h.d.w.Rand.IntN(3)]; h.d.LoseAll { // all pages, half of them, a quarter
			lose = 1
		}
	}
	for p := int(off / pageSize); int64(p)*pageSize < min(off+count, n.top); p++ {
		switch {
		case !n.dirty(p):
		case failed && h.d.w.Rand.IntN(lose) == 0:
			n.lose(p)
			lost = true
		default:
			n.writeBack(p)
		}
	}
	if lost {
		h.d.FlushFailures++
		n.errSeq++
		n.errSeen = false
	} else if off == 0 && count >= n.size {
		n.sizes = []length{{size: n.size}}
	}
	if err := h.enter("sync"); err != nil { // of two at the same time, the other may be told
		return err
	}
	if h.errSeq != n.errSeq {
		h.errSeq, n.errSeen = n.errSeq, true
		return perr("sync", h.name, syscall.EIO)
	}
	return nil
}

func (h *handle) SyncNames() error {
	if err := h.enter("sync"); err != nil {
		return err
	}
	if h.p != h.d.w.loose && h.d.fails(FailSyncNames) {
		return perr("sync", h.name, syscall.EIO)
	}
	h.n.stored = map[string]*inode{}
	for name, n := range h.n.entries {
		h.n.stored[name] = n
	}
	h.n.changes = nil
	return nil
}

// Stored implements logdisk.File: pages that are not mapped are dropped.
func (h *handle) Stored() (logdisk.Stored, error) {
	if err := h.flush(0, maxFile); err != nil {
		return nil, err
	}
	for _, p := range h.d.w.procs {
		for o := range p.files {
			if o.n == h.n && o.mapped {
				return &stored{h}, nil
			}
		}
	}
	h.n.evictAll(0)
	return nil, nil
}

// Evict drops the clean pages of a file from an offset on.
func (d *Disk) Evict(name string, from int64) {
	n, _, _ := d.find(name)
	n.evictAll(int(from / pageSize))
}

func (n *inode) evictAll(from int) {
	for p := from; p < int(n.top/pageSize); p++ {
		if !n.dirty(p) {
			n.evict(p)
		}
	}
}

// evict drops a clean page: it reads as the disk has it.
func (n *inode) evict(p int) {
	copy(page(n.mem, p), page(n.disk, p))
	copy(page(n.clean, p), page(n.disk, p))
	n.pages[p].broken = false
}

type stored struct{ h *handle }

func (s *stored) ReadAt(p []byte, off int64) (int, error) {
	return readAt(s.h.n.disk[:s.h.n.size], p, off)
}
func (s *stored) Close() error { return nil }

func (h *handle) NextData(off int64) (from, to int64, err error) {
	if off >= h.n.size {
		return 0, 0, io.EOF
	}
	return off, h.n.size, nil
}

func (h *handle) CopyRange(from logdisk.File, off, n int64, plain bool) (int64, error) {
	src := from.(*handle)
	b := make([]byte, n)
	k, err := src.ReadAt(b, off)
	if err != nil && err != io.EOF {
		return 0, err
	}
	if !plain { // shared blocks have what the disk has; what is dirty is flushed first
		for p := int(off / pageSize); int64(p)*pageSize < off+int64(k); p++ {
			if src.n.dirty(p) {
				src.n.writeBack(p)
			}
		}
		copy(b, src.n.disk[off:off+int64(k)])
	}
	if _, err := h.WriteAt(b[:k], off); err != nil {
		return 0, err
	}
	if int64(k) < n {
		return int64(k), io.EOF
	}
	return n, nil
}

func (h *handle) Lock() error {
	if err := h.enter("lock"); err != nil {
		return err
	}
	if h.n.locked != nil && h.n.locked != h {
		return logdisk.ErrLocked
	}
	h.n.locked = h
	return nil
}

func (h *handle) Unlock() {
	if h.n.locked == h {
		h.n.locked = nil
	}
}

// Crash ends all processes, and leaves what a crash of the system may leave: of each page any version of
// each sector that the disk may have, any length since the last flush, and some of the changes of names.
func (w *World) Crash() {
	for _, p := range w.procs {
		if p != w.loose && !p.dead {
			p.Kill()
		}
	}
	d := &w.Disk
	d.crashDir(d.root)
	d.Free, d.Fails = 1<<30, map[Failure]int{}
}

func (d *Disk) crashDir(dir *inode) {
	rnd := d.w.Rand
	now := dir.stored
	some, prefix := rnd.IntN(3), rnd.IntN(2) == 0
	until := rnd.IntN(len(dir.changes) + 1)
	for i, c := range dir.changes {
		if prefix && i >= until || !prefix && rnd.IntN(3) < some {
			continue
		}
		for name, n := range c {
			if n == nil {
				delete(now, name)
			} else {
				now[name] = n
			}
		}
	}
	dir.entries, dir.stored, dir.changes = now, map[string]*inode{}, nil
	names := slices.Sorted(maps.Keys(now))
	for _, name := range names {
		n := now[name]
		dir.stored[name] = n
		if n.entries != nil {
			d.crashDir(n)
		} else {
			d.crashFile(n)
		}
	}
}

func (d *Disk) crashFile(n *inode) {
	rnd := d.w.Rand
	few, torn := rnd.IntN(4), rnd.IntN(4) == 0 // 0: all pages as the disk has them; 3: as they are
	k := len(n.sizes) - 1
	if rnd.IntN(2) == 0 {
		k = rnd.IntN(len(n.sizes))
	}
	low := n.sizes[k].size // no page after it is written to the file as it was
	for _, l := range n.sizes[k:] {
		low = min(low, l.size)
	}
	for p := range int(n.top / pageSize) {
		if !n.dirty(p) || int64(p)*pageSize >= low || n.pages[p].broken {
			continue
		}
		whole := rnd.IntN(3) < few
		for s := 0; s < pageSize; s += sectorSize {
			if torn && rnd.IntN(2) == 0 || !torn && whole {
				n.store(p*pageSize+s, p*pageSize+s+sectorSize)
			}
		}
	}
	for i := len(n.sizes) - 2; i >= k; i-- {
		l := n.sizes[i]
		copy(n.disk[l.size-int64(len(l.tail)):], l.tail)
	}
	n.size = n.sizes[k].size
	clear(n.disk[n.size:n.top])
	copy(n.mem, n.disk[:n.top])
	copy(n.clean, n.disk[:n.top])
	n.sizes, n.errSeq, n.locked = []length{{size: n.size}}, 0, nil
	n.names = 1
	for p := range n.pages {
		n.pages[p] = pageState{block: int64(p)*pageSize < n.size, stored: int64(p)*pageSize < n.size}
	}
}

// Contents returns a copy of what a file has, or nil without one. It is no call of a process.
func (d *Disk) Contents(name string) []byte {
	n, _, _ := d.find(name)
	if n == nil || n.entries != nil {
		return nil
	}
	return append([]byte{}, n.mem[:n.size]...)
}

// Replace has another program write all of a file, durably.
func (d *Disk) Replace(name string, b []byte) {
	n, _, _ := d.find(name)
	n.setSize(d, int64(len(b)))
	copy(n.mem, b)
	for p := range int(n.top / pageSize) {
		n.writeBack(p)
	}
	n.sizes = []length{{size: n.size}}
}

// Names returns the names in a directory, sorted. It is no call of a process.
func (d *Disk) Names(dir string) []string {
	n, _, _ := d.find(dir)
	if n == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(n.entries))
}

// MkdirDurable makes a directory in the root, durably.
func (d *Disk) MkdirDurable(name string) {
	dir := newDir()
	d.change(d.root, change{name: dir})
	d.root.stored[name], d.root.changes = dir, nil
}
