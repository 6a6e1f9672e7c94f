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

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/logdisk"
)

// Segment is a file of a Stream that has ended: its events are durable, and none is added.
// TruncateBack may remove the last of them, which leaves the file as long as it was.
type Segment struct {
	Name        string
	First, Next int64     // numbers of its first event, and after its last
	Bytes       int64     // length from the start of the file to the end of the last event
	Time        time.Time // of the first event
}

// LastTime returns the time of the last event. It reads the headers of all events. It fails
// with [ErrTruncated] if TruncateBack has removed some of them since, and with
// [fs.ErrNotExist] if it has removed all.
func (g Segment) LastTime() (t time.Time, err error) {
	f, err := eventfile.Open(g.Name, os.O_RDONLY)
	if err != nil {
		return t, err
	}
	lf := logFile{f: f}
	defer lf.close()
	err = lf.whileOpen("read", func() error {
		// Another segment may have the name by now. This file keeps its bytes.
		src := eventfile.Source{File: f, Limit: g.Bytes}
		end, err := src.End()
		if err != nil {
			return err
		}
		if first, _, err := src.Event(eventfile.HeaderSize, end, false); end < g.Bytes || err == nil && first.Time != g.Time.UnixNano() {
			return lf.fail("read", ErrTruncated)
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
	if eventfile.NotWhole(err) {
		err = lf.fail("read", &CorruptError{0, err})
	}
	return t, err
}

// Segments returns the segments that have ended, the oldest first, for shipping, for backups
// and for retention by other rules. [Stream.Roll] ends the last one. Segments reads the
// beginning of each file.
//
// An error is a *[fs.PathError] with Op "segments": [os.ErrClosed], a *[CorruptError], or the
// system's error.
func (s *Stream) Segments() (list []Segment, err error) {
	s.boundsMu.Lock() // no segment is removed meanwhile
	defer s.boundsMu.Unlock()
	all, at, err := s.settled()
	if err = cmp.Or(err, s.synced.failed()); err != nil {
		return nil, s.fail("segments", err)
	}
	ended := all
	if at.a.log != nil {
		ended = all[:len(all)-1]
	}
	for i, seg := range ended {
		g, err := seg.ended(nextFrom(all, i, at.next))
		if err != nil {
			return nil, s.fail("segments", err)
		}
		list = append(list, g)
	}
	return list, nil
}

// settled returns the segments, of which all but the active one are closed. It is called with boundsMu held.
func (s *Stream) settled() (list []*segment, at mark, err error) {
	s.mu.Lock()
	list, at, err = s.segments(), s.mark(), s.checkWritable()
	s.mu.Unlock()
	if err == nil {
		wait(at.a.prevDurable)
	}
	return list, at, err
}

// ended describes a segment that has ended. The one after it begins with event next.
func (s *segment) ended(next int64) (g Segment, err error) {
	f, err := logdisk.OpenFile(s.name(), os.O_RDONLY, 0)
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
func (s *segment) endedHeader(f logdisk.File, next int64) (h eventfile.Header, err error) {
	st, err := eventfile.StateOf(f)
	if err == nil && (st.Empty() || !st.Valid(st.Size) || st.End > st.Size || st.Count > next-s.first) {
		err = &fs.PathError{Op: "read", Path: s.name(), Err: s.damage(0, 0, eventfile.ErrHeader)}
	}
	return st.Header, err
}

// Copy copies the stream into a new directory, which OpenStream can open. It first makes
// durable all events whose append has returned, and copies up to there. Appends continue
// meanwhile. File systems that can share blocks (xfs, btrfs) do so. Copy verifies no event.
// progress, unless it is nil, is called after each part with the number of bytes copied so
// far, and of all.
//
// The directory gets its name last, and durably: until then it is dir with ".tmp", which
// remains if the process is killed. Segments that retention or TruncateFront removes meanwhile
// may be missing.
//
// An error is a *[fs.PathError] with Op "copy": Copy fails with [fs.ErrExist] if dir exists,
// [ErrTruncated] if TruncateBack has removed events meanwhile, [os.ErrClosed], also if s is
// closed meanwhile, the error of a flush, or the system's. An error of ctx is returned
// unchanged. After an error there is no dir.
func (s *Stream) Copy(ctx context.Context, dir string, progress func(done, total int64)) error {
	var at mark
	var b eventfile.Bounds
	var list []*segment
	err := logdisk.Do(ctx, func() error {
		s.mu.Lock()
		closing := s.closing
		at, b, list = s.mark(), *s.state.Load(), s.segments()
		s.mu.Unlock()
		if closing {
			return os.ErrClosed
		}
		return s.syncMark(at)
	})
	switch {
	case err != nil && err == ctx.Err():
		return err
	case err != nil:
		return s.fail("copy", err)
	}
	return copyStream(ctx, s, dir, progress, b, list, at.next, at.end)
}

// Copy is like [Stream.Copy], whether or not the writer appends meanwhile. It flushes the last
// files itself, and so copies what is visible when it begins. If a flush of the writer has
// failed before, the events are durable in the copy alone.
func (r *StreamReader) Copy(ctx context.Context, dir string, progress func(done, total int64)) error {
	for tries := 0; ; tries++ {
		r.relist()
		b, err := r.refresh()
		list := r.segments()
		switch {
		case err != nil:
			return r.fail("copy", err)
		case len(list) == 0 && b.Generation == 0:
			return r.fail("copy", fs.ErrNotExist)
		case len(list) == 0:
			return copyStream(ctx, r, dir, progress, b, nil, b.First, 0)
		case b.Truncating:
			return r.fail("copy", ErrTruncated)
		}
		next, end, err := flushLast(ctx, list)
		switch {
		case errors.Is(err, fs.ErrNotExist) && again(tries): // the writer has removed it since it was listed
		case err != nil && err == ctx.Err():
			return err
		case err != nil:
			return r.fail("copy", err)
		default:
			return copyStream(ctx, r, dir, progress, b, list, next, end)
		}
	}
}

// flushLast flushes the files of a list that may not be durable. It returns the number after
// that of the last event, and the offset where it ends.
func flushLast(ctx context.Context, list []*segment) (next, end int64, err error) {
	last := list[len(list)-1]
	if next, err = last.next(); err == nil {
		end, err = last.offsetOf(next)
	}
	for _, seg := range list[max(len(list)-2, 0):] {
		if err == nil {
			err = logdisk.Do(ctx, func() error { return flushFile(seg.name()) })
		}
	}
	return next, end, err
}

// flushFile flushes a file that another process may write.
func flushFile(name string) error {
	flag := os.O_RDONLY
	if runtime.GOOS == "windows" {
		flag = os.O_RDWR
	}
	f, err := logdisk.OpenFile(name, flag, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Flush(), f.Close())
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

// copyStream copies segments with the events before number next. The last is copied up to the offset end, or has ended
// if that is 0. b are the bounds of before.
func copyStream(ctx context.Context, c catalog, dir string, progress func(done, total int64), b eventfile.Bounds, list []*segment, next, end int64) (err error) {
	dir = filepath.Clean(dir) // of "dir/" the name beside it is "dir.tmp"
	k := &copier{ctx: ctx, l: c.list(), temp: dir + ".tmp", progress: progress}
	if _, err := logdisk.Lstat(dir); err == nil {
		return &fs.PathError{Op: "copy", Path: dir, Err: fs.ErrExist}
	}
	err = logdisk.Mkdir(k.temp, 0o777)
	switch {
	case errors.Is(err, fs.ErrExist):
		return &fs.PathError{Op: "copy", Path: k.temp, Err: errStale}
	case err != nil:
		return k.l.fail("copy", err)
	}
	defer func() {
		if err != nil {
			logdisk.RemoveAll(k.temp)
		}
		if err != nil && err != ctx.Err() {
			err = k.l.fail("copy", err)
		}
	}()
	for _, seg := range list {
		if fi, err := logdisk.Stat(seg.name()); err == nil {
			k.total += fi.Size()
		}
	}
	for i, seg := range list {
		_, reader := c.(*StreamReader)
		k.plain = reader && i+2 >= len(list)
		segmentEnd := int64(0)
		if i+1 == len(list) {
			segmentEnd = end
		}
		after := nextFrom(list, i, next)
		err := fs.ErrNotExist // of a segment before First: it may have no events, and was listed because First was read before
		if now, berr := c.bounds(); berr != nil || now.First < after {
			err = k.segment(seg, after, segmentEnd)
		}
		if k.l.closed.Load() { // first: then the lock may be another writer's
			return k.l.fail("copy", os.ErrClosed)
		}
		if now, berr := c.bounds(); berr == nil && now.Truncations != b.Truncations {
			return ErrTruncated
		}
		if now, berr := c.bounds(); errors.Is(err, fs.ErrNotExist) && berr == nil && now.First >= after {
			b.First, err = max(b.First, after), nil // retention has overtaken: OpenStream removes what was copied
		}
		if err != nil {
			return err
		}
	}
	if now, err := c.bounds(); err != nil || now.Truncating || now.Truncations != b.Truncations {
		return cmp.Or(err, ErrTruncated)
	}
	first := b.First
	if len(list) > 0 {
		first = max(first, list[0].first)
	}
	if err := k.meta(first); err != nil {
		return err
	}
	if err := k.flush(func() error { return logdisk.SyncDir(k.temp) }); err != nil {
		return err
	}
	if err := logdisk.Rename(k.temp, dir); err != nil {
		return err
	}
	k.temp = dir // to be removed after an error
	return k.flush(func() error { return logdisk.SyncDir(dirOf(dir)) })
}

// flush calls fn, which flushes, unless the context is done before it ends.
func (k *copier) flush(fn func() error) error { return logdisk.Do(k.ctx, fn) }

// segment copies a segment with the events before number next. It ends at an offset, or has ended if that is 0.
func (k *copier) segment(seg *segment, next, end int64) error {
	src, err := logdisk.OpenFile(seg.name(), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := k.l.here(); err != nil {
		return err
	}
	h := eventfile.Header{End: end, Count: next - seg.first}
	if end > 0 {
		h.Start, err = seg.started()
	} else {
		h, err = seg.endedHeader(src, next)
	}
	if err != nil {
		return err
	}
	dst, err := logdisk.OpenFile(eventfile.SegmentName(k.temp, seg.first), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer dst.Close()
	for off := int64(0); off < h.End && h.Count > 0; { // a file without events may have no header yet
		if err := k.ctx.Err(); err != nil {
			return err
		}
		n, err := dst.CopyRange(src, off, min(h.End-off, copyBytes), k.plain)
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
	return k.flush(dst.Flush)
}

const copyBytes = 16 << 20 // Copy looks at its context after so many

// meta writes the bounds of the copy.
func (k *copier) meta(first int64) error {
	f, err := logdisk.OpenFile(filepath.Join(k.temp, eventfile.MetaName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := eventfile.WriteZeros(f, 0, 2*eventfile.SlotSize); err != nil {
		return err
	}
	return k.flush(func() error { return writeMeta(f, eventfile.Bounds{Generation: 1, First: first}) })
}
