package lab

import (
	"errors"
	"flag"
	"io"
	"os"
	"regexp"
	"slices"
	"testing"

	edsrzf "github.com/edsrzf/mmap-go"
	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
	"golang.org/x/exp/mmap"
)

// impl is one implementation under comparison.
type impl struct {
	name string
	kind any // a value of the type that open returns: its methods are what it can do
	// open opens a file as os.OpenFile does. An implementation that cannot let a file grow gives
	// a new one size bytes.
	open func(path string, flag int, size int64) (io.Closer, error)
}

var (
	osFile   = impl{"os", (*os.File)(nil), openOS}
	osAgain  = impl{"os-again", (*os.File)(nil), openOS} // os.File against itself: the noise
	mmapFile = impl{"mmapfile", (*mmapfile.File)(nil), func(path string, flag int, _ int64) (io.Closer, error) {
		return mmapfile.OpenFile(path, flag, 0o644)
	}}
	expMmap  = impl{"exp", (*mmap.ReaderAt)(nil), func(path string, _ int, _ int64) (io.Closer, error) { return mmap.Open(path) }}
	mmapGo   = impl{"edsrzf", mmapGoFile{}, openMmapGo}
	bareCopy = impl{"copy", bare{}, openBare}

	// everyone is what a row compares, if it can be measured there.
	everyone = slices.Concat([]impl{osFile, mmapFile}, predecessor, []impl{expMmap, mmapGo, bareCopy, osAgain})
)

func openOS(path string, flag int, _ int64) (io.Closer, error) { return os.OpenFile(path, flag, 0o644) }

// mmapGoFile is what a program has to add to edsrzf/mmap-go to read and write at offsets: the copy.
type mmapGoFile struct {
	mem edsrzf.MMap
	f   *os.File
}

func openMmapGo(path string, flag int, size int64) (io.Closer, error) {
	f, err := os.OpenFile(path, flag, 0o644)
	if err != nil {
		return nil, err
	}
	if flag&os.O_CREATE != 0 && size > 0 {
		if err := f.Truncate(size); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	prot := edsrzf.RDONLY
	if flag&os.O_RDWR != 0 {
		prot = edsrzf.RDWR
	}
	mem, err := edsrzf.Map(f, prot, 0)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return mmapGoFile{mem, f}, nil
}

func (f mmapGoFile) ReadAt(p []byte, off int64) (int, error)  { return copy(p, f.mem[off:]), nil }
func (f mmapGoFile) WriteAt(p []byte, off int64) (int, error) { return copy(f.mem[off:], p), nil }
func (f mmapGoFile) Sync() error                              { return f.mem.Flush() }
func (f mmapGoFile) Bytes() []byte                            { return f.mem }
func (f mmapGoFile) Close() error                             { return errors.Join(f.mem.Unmap(), f.f.Close()) }

// bare is the limit: nothing but the copy from and to a mapping.
type bare struct {
	io.Closer
	mem []byte
}

func openBare(path string, flag int, size int64) (io.Closer, error) {
	f, err := mmapfile.OpenFile(path, flag, 0o644)
	if err != nil {
		return nil, err
	}
	if flag&os.O_CREATE != 0 && size > 0 {
		if err := f.Truncate(size); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	mem := f.Bytes()
	if mem == nil {
		return nil, errors.Join(errors.New("cannot be mapped"), f.Close())
	}
	return bare{f, mem}, nil
}

func (f bare) ReadAt(p []byte, off int64) (int, error)  { return copy(p, f.mem[off:]), nil }
func (f bare) WriteAt(p []byte, off int64) (int, error) { return copy(f.mem[off:], p), nil }

var (
	implFlag = flag.String("impl", "", "`regexp` of the implementations to measure; all of them if empty")
	turnFlag = flag.Int("turn", 0, "`number` of the implementation that is the first one in each row: what comes first pays for cold caches")
)

// each runs fn for every implementation in list that has the methods of F.
func each[F any](b *testing.B, list []impl, fn func(b *testing.B, im impl)) {
	asked, err := regexp.Compile(*implFlag)
	if err != nil {
		b.Fatal(err)
	}
	list = slices.DeleteFunc(slices.Clone(list), func(im impl) bool {
		_, ok := im.kind.(F)
		return !ok || !asked.MatchString(im.name)
	})
	for i := range list {
		im := list[(i+*turnFlag)%len(list)]
		b.Run("impl="+im.name, func(b *testing.B) { fn(b, im) })
	}
}

// eachOpen runs fn for every implementation that has the methods of F, with path open. An operation
// moves so many bytes.
func eachOpen[F any](b *testing.B, bytes int, path string, flag int, fn func(b *testing.B, f F)) {
	each[F](b, over(bytes), func(b *testing.B, im impl) { fn(b, open[F](b, im, path, flag)) })
}

// over is everyone, but os.File once only where an operation takes long, by its bytes.
func over(bytes int) []impl {
	if bytes >= 500*benchtest.MB {
		return without(osAgain)
	}
	return everyone
}

// open opens path until the end of b.
func open[F any](b *testing.B, im impl, path string, flag int) F {
	b.Helper()
	f, err := im.open(path, flag, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := f.Close(); err != nil {
			b.Error(err)
		}
	})
	return f.(F)
}

// without is everyone but one.
func without(other impl) []impl {
	return slices.DeleteFunc(slices.Clone(everyone), func(im impl) bool { return im.name == other.name })
}
