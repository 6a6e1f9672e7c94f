//go:build !nommap

package sys

import (
	"testing"

	"golang.org/x/sys/unix"
)

// What the system says of a file decides whether calls may map it, and write through the mapping.
func TestStorageOf_Answers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		fsType uint32
		mount  int64
		attr   uint32
		want   Storage
	}{
		{"ext4", unix.EXT4_SUPER_MAGIC, 0, attrExtents, StorageLocal},
		{"ext4, chattr +S", unix.EXT4_SUPER_MAGIC, 0, attrExtents | attrSync, StorageLocal | StorageSync | StorageNoWrites},
		{"ext4, mount -o sync", unix.EXT4_SUPER_MAGIC, mountSync, attrExtents, StorageLocal | StorageSync | StorageNoWrites},
		{"ext3", unix.EXT4_SUPER_MAGIC, 0, 0, StorageLocal | StorageNoWrites},
		{"xfs", unix.XFS_SUPER_MAGIC, 0, 0, StorageLocal},
		{"xfs, chattr +S", unix.XFS_SUPER_MAGIC, 0, attrSync, StorageLocal | StorageSync | StorageNoWrites},
		{"btrfs", unix.BTRFS_SUPER_MAGIC, 0, 0, StorageLocal},
		{"exFAT", unix.EXFAT_SUPER_MAGIC, 0, 0, StorageLocal | StorageNoWrites},
		{"ntfs3", ntfs3Magic, 0, 0, StorageLocal | StorageNoWrites},
		{"ZFS", zfsMagic, 0, 0, StorageLocal | StorageNoWrites},
		{"ramfs", unix.RAMFS_MAGIC, 0, 0, StorageLocal | StorageNoWrites},
		{"tmpfs", unix.TMPFS_MAGIC, 0, 0, StorageMemory | StorageSparse},
		{"tmpfs, mount -o sync", unix.TMPFS_MAGIC, mountSync, 0, StorageMemory | StorageSparse | StorageSync | StorageNoWrites},
		{"overlayfs", unix.OVERLAYFS_SUPER_MAGIC, 0, 0, StorageOverlay},
		{"NFS", unix.NFS_SUPER_MAGIC, mountSync, attrSync, StorageRemote},
		{"FUSE", unix.FUSE_SUPER_MAGIC, 0, 0, StorageRemote},
		{"unknown", 12345, 0, 0, StorageRemote},
	} {
		if got := storageOf(c.fsType, c.mount, c.attr); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
}
