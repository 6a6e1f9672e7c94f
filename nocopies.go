//go:build !nommap && (unix || windows)

package mmapfile

// Where files can be mapped, memory is never a copy: see copies.go.

type copies struct{}

func (f *file) writeBackCopies(off int64, n int) error { return nil }
func (f *file) refreshCopies(b []byte, off int64)      {}
func (f *file) bytesCopy() []byte                      { return nil }

func (f *file) viewCopy(int64, int, func(p []byte) error) error {
	return f.fail("view", errNotMapped)
}
