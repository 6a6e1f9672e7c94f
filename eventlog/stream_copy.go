package eventlog

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/sys"
)

// Segment is a file of a Stream that has ended: its events are durable, and none is added.
// TruncateBack may remove the last of them, and leaves the file longer.
type Segment struct {
	Name        string
	First, Next int64     // numbers of its first event, and after its last
	Bytes       int64     // of the file, from its beginning, up to the end of the last event
	Time        time.Time // of the first event
}

// LastTime returns the time of the last event. It reads the headers of all events. If TruncateBack has
// removed some of them since, the error is [ErrTruncated], or [fs.ErrNotExist] for all of them.
func (g Segment) LastTime() (t time.Time, err error) {
	whole, err := scanSegment(g.Name, func(src *eventfile.Source, _ int64) error {
		// Another segment may have the name by now. This file keeps its bytes.
		end, err := src.End()
		if err != nil {
			return err
		}
		if first, _, err := src.Event(eventfile.HeaderSize, end, false); end < g.Bytes || err == nil && first.Time != g.Time.UnixNano() {
			return &fs.PathError{Op: "read", Path: g.Name, Err: ErrTruncated}
		}
		src.MapIfHot(g.Bytes)
		for off := int64(eventfile.HeaderSize); off < g.Bytes; {
			e, _, err := src.Event(off, g.Bytes, false)
			if err != nil {
				return err
			}
			off, t = e.Next(off), time.Unix(0, e.Time)
		}
		return nil
	})
	if err == nil && !whole {
		err = &fs.PathError{Op: "read", Path: g.Name, Err: &CorruptError{0, eventfile.ErrPastEnd}}
	}
	return t, err
}

// Segments returns the segments that have ended, the oldest first, for shipping, for backups and for
// retention by other rules. [Stream.Roll] ends the last one. It reads the beginning of each file.
//
// An error is a *[fs.PathError] with Op "segments": [os.ErrClosed], a *[CorruptError], or the system's.
func (s *Stream) Segments() (list []Segment, err error) {
	s.boundsMu.Lock() // no segment is removed meanwhile
	defer s.boundsMu.Unlock()
	s.mu.Lock()
	err = s.checkWritable()
	all, prevDurable := s.segments(), s.active.prevDurable
	s.mu.Unlock()
	if err != nil {
		return nil, s.fail("segments", err)
	}
	<-prevDurable
	if err := s.synced.failed(); err != nil {
		return nil, s.fail("segments", err)
	}
	for i, seg := range all[:len(all)-1] {
		g, err := seg.ended(all[i+1].first)
		if err != nil {
			return nil, s.fail("segments", err)
		}
		list = append(list, g)
	}
	return list, nil
}

// ended describes a segment that has ended. The one after it begins with event next.
func (s *segment) ended(next int64) (g Segment, err error) {
	f, err := os.Open(s.name())
	if err != nil {
		return g, err
	}
	defer f.Close()
	h, err := s.endedHeader(f, next)
	var b [eventfile.EntrySize]byte
	if err == nil {
		_, err = f.ReadAt(b[:], eventfile.HeaderSize)
	}
	return Segment{s.name(), s.first, s.first + h.Count, h.End, time.Unix(0, eventfile.ParseEntry(b[:]).Time)}, err
}

// endedHeader returns the header of a segment that has ended, whose file is f.
func (s *segment) endedHeader(f *os.File, next int64) (h eventfile.Header, err error) {
	fi, err := f.Stat()
	if err != nil {
		return h, err
	}
	var b [eventfile.HeaderSize]byte
	if _, err = f.ReadAt(b[:], 0); err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	h = eventfile.ParseHeader(b[:])
	if err == nil && (h.Empty() || !h.Valid(fi.Size()) || h.End > fi.Size() || h.Count > next-s.first) {
		err = eventfile.ErrHeader
	}
	if err != nil {
		err = &fs.PathError{Op: "read", Path: s.name(), Err: s.damage(0, 0, err)}
	}
	return h, err
}

// Copy copies the stream into a new directory, which OpenStream can open. It first makes durable all
// events whose append has returned, and copies up to there. Appends continue meanwhile. File systems
// that can share blocks (xfs, btrfs) do so. It verifies no event. progress, unless it is nil, is called
// after each part with the number of bytes that were copied, and of all.
//
// The directory gets its name last, and durably: until then that is dir with ".tmp", which a
// kill leaves. Segments that retention or TruncateFront removes meanwhile may be missing.
//
// An error is a *[fs.PathError] with Op "copy": [fs.ErrExist] if dir is there, [ErrTruncated]
// if TruncateBack has removed events meanwhile, [os.ErrClosed] also if s is closed meanwhile, one
// of the flush, or the system's. That of ctx comes as it is. After an error there is no dir.
func (s *Stream) Copy(ctx context.Context, dir string, progress func(done, total int64)) error {
	s.mu.Lock()
	at, b, closing := s.mark(), *s.state.Load(), s.closing
	s.mu.Unlock()
	if closing {
		return s.fail("copy", os.ErrClosed)
	}
	if err := s.syncMark(at); err != nil {
		return s.fail("copy", err)
	}
	return copyStream(ctx, s, dir, progress, b, at.a.seg, eventfile.Header{End: at.end, Count: at.next - at.a.seg.first})
}

// Copy is [Stream.Copy], while the writer appends or not. It flushes the files that it finds
// last itself, and so copies what is visible when it begins. If a flush of the writer has failed
// before, the events are durable in the copy alone.
func (r *StreamReader) Copy(ctx context.Context, dir string, progress func(done, total int64)) error {
	r.relist()
	b, err := r.refresh()
	list := r.segments()
	switch {
	case err != nil:
		return r.fail("copy", err)
	case len(list) == 0:
		return r.fail("copy", fs.ErrNotExist)
	case b.Truncating:
		return r.fail("copy", ErrTruncated)
	}
	last := list[len(list)-1]
	next, err := last.next()
	end := int64(0)
	if err == nil {
		end, err = last.offsetOf(next)
	}
	for _, seg := range list[max(len(list)-2, 0):] {
		if err == nil {
			err = flushFile(seg.name())
		}
	}
	if err != nil {
		return r.fail("copy", err)
	}
	return copyStream(ctx, r, dir, progress, b, last, eventfile.Header{End: end, Count: next - last.first})
}

// removeFiles removes a directory of files.
func removeFiles(dir string) {
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		os.Remove(filepath.Join(dir, f.Name()))
	}
	os.Remove(dir)
}

// flushFile flushes a file that another process may write.
func flushFile(name string) error {
	flag := os.O_RDONLY
	if runtime.GOOS == "windows" {
		flag = os.O_RDWR
	}
	f, err := os.OpenFile(name, flag, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// copier is the work of Copy.
type copier struct {
	ctx         context.Context
	l           *segmentList
	temp        string
	progress    func(done, total int64)
	done, total int64
	plain       bool // read by read(2): a flush of the segment may have failed, and shared blocks lack its events
}

// copyStream copies the segments up to last, of which it copies what the header says. b are the
// bounds of before.
func copyStream(ctx context.Context, c catalog, dir string, progress func(done, total int64), b eventfile.Bounds, last *segment, h eventfile.Header) (err error) {
	dir = filepath.Clean(dir) // of "dir/" the name beside it is "dir.tmp"
	k := &copier{ctx: ctx, l: c.list(), temp: dir + ".tmp", progress: progress}
	if _, err := os.Lstat(dir); err == nil {
		return &fs.PathError{Op: "copy", Path: dir, Err: fs.ErrExist}
	}
	if err := os.Mkdir(k.temp, 0o777); err != nil {
		return k.l.fail("copy", err)
	}
	defer func() {
		if err != nil {
			removeFiles(k.temp)
		}
		if err != nil && err != ctx.Err() {
			err = k.l.fail("copy", err)
		}
	}()
	list := k.l.segments()
	i := position(list, last.first)
	if i < 0 || list[i] != last {
		return ErrTruncated
	}
	list = list[:i+1]
	if h.Start, err = last.started(); err != nil {
		return err
	}
	for _, seg := range list {
		if fi, err := os.Stat(seg.name()); err == nil {
			k.total += fi.Size()
		}
	}
	for i, seg := range list {
		_, reader := c.(*StreamReader)
		k.plain = reader && i+2 >= len(list)
		of := func(*os.File) (eventfile.Header, error) { return h, nil }
		if seg != last {
			of = func(f *os.File) (eventfile.Header, error) { return seg.endedHeader(f, list[i+1].first) }
		}
		err := k.segment(seg, of)
		if k.l.closed.Load() { // first: then the lock may be another writer's
			return k.l.fail("copy", os.ErrClosed)
		}
		if now, berr := c.bounds(); berr == nil && now.Truncations != b.Truncations {
			return ErrTruncated
		}
		if now, berr := c.bounds(); errors.Is(err, fs.ErrNotExist) && berr == nil && i+1 < len(list) && now.First >= list[i+1].first {
			b.First, err = list[i+1].first, k.forget(list[:i+1]) // retention has overtaken
		}
		if err != nil {
			return err
		}
	}
	if now, err := c.bounds(); err != nil || now.Truncating || now.Truncations != b.Truncations {
		return cmp.Or(err, ErrTruncated)
	}
	if err := k.meta(max(b.First, list[0].first)); err != nil {
		return err
	}
	if err := sys.SyncDir(k.temp); err != nil {
		return err
	}
	if err := os.Rename(k.temp, dir); err != nil {
		return err
	}
	return sys.SyncDir(dirOf(dir))
}

// segment copies a segment up to the end that of says, given its file.
func (k *copier) segment(seg *segment, of func(*os.File) (eventfile.Header, error)) error {
	src, err := os.Open(seg.name())
	if err != nil {
		return err
	}
	defer src.Close()
	if err := k.l.here(); err != nil {
		return err
	}
	h, err := of(src)
	if err != nil {
		return err
	}
	dst, err := os.OpenFile(eventfile.SegmentName(k.temp, seg.first), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer dst.Close()
	in := io.Reader(src)
	if k.plain {
		in = struct{ io.Reader }{src}
	}
	for off := int64(0); off < h.End; {
		if err := k.ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(dst, in, min(h.End-off, copyBytes)) // copy_file_range(2), which may share blocks, unless plain
		if err == io.EOF {
			err = &fs.PathError{Op: "copy", Path: seg.name(), Err: &CorruptError{off + n, io.ErrUnexpectedEOF}}
		}
		if err != nil {
			return err
		}
		off, k.done = off+n, k.done+n
		if k.progress != nil {
			k.progress(k.done, max(k.done, k.total))
		}
	}
	if _, err := dst.WriteAt(h.Bytes(), 0); err != nil {
		return err
	}
	return dst.Sync()
}

const copyBytes = 16 << 20 // Copy looks at its context after so many

// forget removes copies of segments.
func (k *copier) forget(list []*segment) (err error) {
	for _, seg := range list {
		if rerr := os.Remove(eventfile.SegmentName(k.temp, seg.first)); !errors.Is(rerr, fs.ErrNotExist) {
			err = cmp.Or(err, rerr)
		}
	}
	return err
}

// meta writes the bounds of the copy.
func (k *copier) meta(first int64) error {
	f, err := mmapfile.Create(filepath.Join(k.temp, eventfile.MetaName))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := eventfile.WriteZeros(f, 0, 2*eventfile.SlotSize); err != nil {
		return err
	}
	return writeMeta(f, eventfile.Bounds{Generation: 1, First: first})
}
