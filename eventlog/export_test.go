package eventlog

import "go.dw1.io/mmapfile/internal/sys"

// Rewind makes l empty without touching its file, so that the next pass stores into memory that is warm.
func Rewind(l *Log) { l.end, l.count = headerSize, 0 }

// Maps says that files are mapped here.
const Maps = sys.Maps

// Attach does to l what opening a file of size bytes does.
func Attach(l *Log, size int64) { l.attach(size) }

// DirOf is the directory that is synced for a new file.
var DirOf = dirOf
