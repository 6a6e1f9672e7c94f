package eventlog

import (
	"math"
	"os"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/sys"
)

// hooks are system calls that tests let fail, and steps that they look at.
var hooks = struct {
	syncDir   func(name string) error
	syncNames func(dir *os.File) error
	syncMeta  func(f *mmapfile.File) error
	trace     func(dir, op, name string) // ends a step of the Stream in dir: a crash may follow
}{
	syncDir:   sys.SyncDir,
	syncNames: sys.SyncNames,
	// fdatasync(2), which needs no commit of the journal.
	syncMeta: func(f *mmapfile.File) error { return f.SyncRange(0, math.MaxInt64) },
	trace:    func(dir, op, name string) {},
}
