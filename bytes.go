package mmapfile

// Bytes returns the whole file as one slice of exactly its present length, capacity
// included. It asks the file for that length and maps it if necessary. nil means that the
// file is empty, closed or cannot be mapped.
//
// The memory is the file's own, shared with other processes. A store writes the file if it
// was opened with [os.O_RDWR], else it faults. Stores are durable after [File.Sync]. The
// memory is not synchronised with concurrent writes.
//
// The slice is valid until [File.Close], while f is reachable ([runtime.KeepAlive]). It
// does not grow with the file: call Bytes again. An access to bytes that this or another
// program has truncated ends the process. [File.View] and [File.Guard] avoid that.
//
// Code that looks for Bytes or Len in an [io.Reader] takes f for a buffer, and reads it from its
// start, whatever the cursor is. zstd.NewReader(f) of klauspost/compress does that with small
// files. Give it struct{ io.Reader }{f} instead, or [File.OS]. Copies with [io.Copy] hide both
// methods.
//
// Until Close, Windows lets no other program truncate the file. A memfd that is open for
// writing cannot be sealed against writes while it is mapped. If a platform has no
// mappings (build tag nommap), the slice is a copy, which Sync, Close and each system call
// on the file write back.
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
