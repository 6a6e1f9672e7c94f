//go:build !nommap

package mmapfile

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// mmapUnlocked maps a file so that mlockall(MCL_FUTURE) neither reads it into
// memory nor locks it. An inaccessible mapping is not populated (mlock_fixup and
// populate_vma_page_range in mm/), and no longer locked when it becomes accessible.
func mmapUnlocked(fd int, length uintptr, prot int) (unsafe.Pointer, error) {
	var fs unix.Statfs_t
	if prot&unix.PROT_WRITE != 0 && (unix.Fstatfs(fd, &fs) != nil || fs.Type == ntfs3Magic) {
		return mmapShared(fd, length, prot) // ntfs_file_mmap has to see PROT_WRITE
	}
	p, err := mmapShared(fd, length, unix.PROT_NONE)
	if err != nil {
		return nil, err
	}
	data := unsafe.Slice((*byte)(p), length)
	if err = unix.Munlock(data); err == nil {
		err = unix.Mprotect(data, prot)
	}
	if err != nil {
		unix.MunmapPtr(p, length)
		return nil, err
	}
	return p, nil
}
