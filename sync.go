package mmapfile

import (
	"io/fs"
	"math"
	"os"

	"go.dw1.io/mmapfile/internal/sys"
)

// Sync makes all written bytes durable before it returns, as [os.File.Sync] does, whether
// they were written through the mapping or not. Stores through [File.Bytes], [File.View]
// and the like are included. Its errors are those of os.File.Sync, or that of an earlier
// flush by a [FlushPolicy]. On a private File (see [Options]) it does nothing, because
// nothing of it is ever in the file.
func (f *File) Sync() error {
	if f == nil {
		return os.ErrInvalid
	}
	f.innerClosed()
	if f.private {
		return f.stillOpen("sync")
	}
	if f.flusher != nil {
		return f.flusher.sync(f.file)
	}
	return f.sync()
}

func (f *file) sync() error {
	ferr := f.flush()
	f.endPeriod()
	if err := f.syncWhole(f.inner.Sync); err != nil {
		return err
	}
	if ferr != nil {
		return f.fail("sync", cause(ferr))
	}
	return nil
}

// syncData is sync for the bytes and the metadata needed to read them, without the file's
// times.
func (f *file) syncData() error {
	ferr := f.flush()
	if err := f.syncWhole(func() error { return sys.Datasync(f.inner) }); err != nil {
		return err
	}
	return ferr
}

// syncWhole calls sync, after which no page is prefaulted.
func (f *file) syncWhole(sync func() error) error {
	f.pages.Synced(0, math.MaxInt64) // before, because a long one protects pages early
	err := sync()
	f.pages.Synced(0, math.MaxInt64)
	if l := f.writes.Locks(); l != nil {
		f.pages.Judge(l.TakeWrites)
	}
	return err
}

// SyncRange makes the n bytes at off durable, and the file's length if it is needed to read
// them. A crash of the system after that can lose what was written elsewhere in the file,
// and the modification time. Bytes past the end of the file are no error.
//
// An error is a *[fs.PathError] with Op "sync": [fs.ErrInvalid] for a negative off or n,
// [os.ErrClosed], or the system's. On a private File (see [Options]) SyncRange does
// nothing.
//
// On Linux it calls msync(2) with MS_SYNC if the File is mapped, and open for reading and
// writing. That writes back the range's pages, however they were changed, and waits for the
// disk as fsync(2) does (mm/msync.c). Otherwise the whole file is synced.
func (f *File) SyncRange(off, n int64) error {
	if f == nil {
		return os.ErrInvalid
	}
	if off < 0 || n < 0 {
		return f.fail("sync", fs.ErrInvalid)
	}
	f.innerClosed()
	if f.private {
		return f.stillOpen("sync")
	}
	end := int64(math.MaxInt64)
	if n <= end-off {
		end = off + n
	}
	m := f.m.Load()
	if !sys.SyncsRanges || m == nil || !m.writable || end > int64(len(m.data)) || n == 0 {
		if err := f.syncData(); err != nil {
			return f.fail("sync", cause(err))
		}
		return f.flushFailed()
	}
	err := sys.SyncMemory(m.data[off&^int64(pageSize-1) : end])
	f.pages.Synced(off, end)
	switch {
	case f.m.Load() == nil: // the range may not have been the file's any more
		return f.fail("sync", os.ErrClosed)
	case err != nil:
		return f.fail("sync", err)
	}
	return f.flushFailed()
}

// flushFailed returns the failure of an earlier flush. The system has marked the pages
// clean since then, so another flush would not report it (fsync(2)).
func (f *file) flushFailed() error {
	if f.flusher != nil {
		if err := f.flusher.failure(); err != nil {
			return f.fail("sync", cause(err))
		}
	}
	return nil
}
