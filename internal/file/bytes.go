package file

// Bytes is the method of mmapfile.File.
func (f *File) Bytes() []byte {
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
