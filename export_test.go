package mmapfile

// What the tests may know of a File's inside.

// CanMap says whether this build maps files: not under nommap, nor where there is no mmap.
const CanMap = canMap

// MapsUnasked says whether calls alone make this build map a file, without Bytes or View, and
// whether others can truncate it nevertheless.
const MapsUnasked = canMap && !locked

// Mapped reports whether calls on f may be served from a mapping now.
func Mapped(f *File) bool { return f.m.Load() != nil }

// NeverMap makes calls on f go to the inner file, as where nothing can be mapped.
func NeverMap(f *File) { f.never.Store(true) }
