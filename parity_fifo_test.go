//go:build unix && !aix && !illumos && !solaris

package mmapfile_test

import (
	"os"
	"path/filepath"
	"syscall"
)

// Apart from the rest of Unix since package syscall has no Mkfifo everywhere.

func init() {
	sequences = append(sequences,
		sequence{"FIFO", []content{empty}, nil, quiet, false, func(r *run, _ anyFile, size int64) {
			fifo := filepath.Join(r.dir, "fifo")
			if err := syscall.Mkfifo(fifo, 0o644); err != nil {
				r.note("Mkfifo", r.err(err))
				return
			}
			both := r.openFile(fifo, os.O_RDWR, 0) // does not wait for the other end
			if both == nil {
				return
			}
			for _, flag := range []int{os.O_RDWR, os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_APPEND} {
				f := r.openFile(fifo, flag, 0)
				if f == nil {
					continue
				}
				r.write(both, patternBytes(100))
				r.everyMethod(f, 20)
				r.close(f)
				r.write(both, []byte("so that the next read does not wait"))
				r.read(both, 4000)
			}
			r.close(both)
		}},
	)
}
