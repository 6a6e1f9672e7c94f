package mmapfile

// Bytes returns the whole file as one slice, with its present length as capacity, too. It maps
// the file if necessary. nil means that the file is empty, closed or cannot be mapped.
//
// The memory is the file's own: a store is in the file, and faults if the file is open for
// reading only. The slice is valid until [File.Close], while f is reachable
// ([runtime.KeepAlive]), and does not grow with the file. An access to what any program has
// truncated ends the process: see [File.View] and [File.Guard].
//
// Code that looks for Bytes or Len in an [io.Reader], such as klauspost/compress, takes f for
// a buffer. Give it struct{ io.Reader }{f} instead. If a platform has no mappings, the slice
// is a copy, which Sync, Close and each system call on the file write back.
func (f *File) Bytes() []byte {
	if f == nil || f.innerClosed() {
		return nil
	}
	if !f.inPlace() {
		f.noteStores()
		return f.bytesCopy()
	}
	size := f.visibleLen()
	if size <= 0 {
		return nil
	}
	m, err := f.mapForMemory(size, true)
	if err != nil {
		return nil
	}
	f.noteStores()
	size = min(size, int64(len(m.data)))
	return m.data[:size:size]
}
