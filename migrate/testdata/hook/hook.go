package file

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/evictions"
	"go.dw1.io/mmapfile/internal/pages"
)

// A test adds this file to the package, and calls of mapFirst to Init, refresh and tracks. So a
// regular File is mapped when it is opened. One without bytes, and one that has outgrown its
// mapping, is mapped after the next write, or read that is recorded. Every page is prefaulted,
// and none evicted.
//
// The file that MMAPFILE_RECORD names gets a line for each place that opens a File, and one
// for each File that is mapped.

var recordTo *os.File

func init() {
	if name := os.Getenv("MMAPFILE_RECORD"); name != "" {
		var err error
		if recordTo, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
			panic(err)
		}
		record("canMap " + strconv.FormatBool(canMap))
	}
	evictions.Hold()
	account.Unbound() // so no read is a system call for comparison
}

func record(line string) {
	if recordTo != nil {
		recordTo.WriteString(line + "\n")
	}
}

// openedAt has the place that opened each *File.
var openedAt sync.Map

// mapFirst maps f if it has bytes that are not mapped.
func mapFirst(f *File) {
	place, known := openedAt.Load(f)
	if !known {
		place = caller()
		openedAt.Store(f, place)
		record("opened " + place.(string))
	}
	size, regular := f.stat()
	if !canMap || !regular || size == 0 || !f.mu.TryLock() {
		return
	}
	defer f.mu.Unlock()
	if m := f.m.Load(); f.mu.Closed() || m != nil && int64(m.usable) >= size || f.mapTo(size, true) != nil {
		return
	}
	// What a file system restricts, such as a tmpfs, does not matter for the files of a test.
	m := *f.m.Load()
	m.usable = len(m.data)
	f.m.Store(&m)
	if !noUnifiedCache {
		f.pages.Note(pages.Prefaulted, 0, int64(len(m.data)))
	}
	record("mapped " + place.(string))
}

// caller returns the file and line of the call into the package, with the file's directory.
func caller() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "go.dw1.io/mmapfile.") && !strings.HasPrefix(frame.Function, "go.dw1.io/mmapfile/internal/file.") || !more {
			dir, base := filepath.Split(frame.File)
			return filepath.Base(dir) + "/" + base + ":" + strconv.Itoa(frame.Line)
		}
	}
}
