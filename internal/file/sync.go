package file

import (
	"errors"
	"io/fs"
	"math"
	"os"

	"go.dw1.io/mmapfile/internal/sys"
	"go.dw1.io/mmapfile/internal/vm"
)

// Sync is the method of mmapfile.File.
func (f *File) Sync() error {
	switch {
	case f.private():
		return f.stillOpen("sync")
	case f.variant != nil:
		return f.check(f.syncFlushed())
	}
	return f.check(f.sync())
}

func (f *File) sync() error {
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
func (f *File) syncData() error {
	ferr := f.flush()
	if err := f.syncWhole(func() error { return sys.Datasync(f.inner) }); err != nil {
		return err
	}
	return ferr
}

// syncWhole calls sync, after which no page is prefaulted.
func (f *File) syncWhole(sync func() error) error {
	f.pages.Synced(0, math.MaxInt64) // before, because a long one protects pages early
	err := sync()
	f.pages.Synced(0, math.MaxInt64)
	return err
}

// SyncRange is the method of mmapfile.File.
func (f *File) SyncRange(off, n int64) error {
	if off < 0 || n < 0 {
		return f.fail("sync", fs.ErrInvalid)
	}
	if f.private() {
		return f.stillOpen("sync")
	}
	f.innerClosed()
	end := int64(math.MaxInt64)
	if n <= end-off {
		end = off + n
	}
	err := errors.ErrUnsupported
	if m := f.m.Load(); m != nil && m.writable && end <= int64(len(m.data)) && n > 0 {
		err = vm.Memory.Sync(m.data[off&^int64(pageSize-1) : end])
		f.pages.Synced(off, end)
	}
	switch {
	case errors.Is(err, errors.ErrUnsupported): // or these bytes are not mapped for writing
		err = f.syncData()
	case f.m.Load() == nil: // the range may not have been the file's any more
		err = os.ErrClosed
	}
	if err != nil {
		return f.fail("sync", cause(err))
	}
	return f.flushFailed()
}
