//go:build !plan9 && !windows && !wasm

package billyfs

// Fd returns the descriptor, with the signature that files of osfs have. The effects are those of
// [mmapfile.File.Fd].
func (f file) Fd() (uintptr, bool) { return f.File.Fd(), true }
