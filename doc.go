// Package mmapfile is a replacement for [os.File] that is backed by a memory mapping. A
// call site of [os.Open], [os.Create] or [os.OpenFile] compiles unchanged with the function
// of the same name here. It gets the same results, faster.
//
// # The file is the truth
//
// A [File] holds a real *os.File and, once that pays, a mapping of it. A call is answered
// from the mapping if it can be. Otherwise the whole call goes to the *os.File. So every
// odd case has os.File's result, because os.File produced it. The *os.File answers in these
// cases:
//
//   - Reading or writing a page of the range through the mapping does not pay yet.
//   - The file cannot be mapped: a directory, pipe, socket or device, a file in /proc, an
//     empty file, or one open for writing only.
//   - A mapping might miss changes to the file: on network file systems, on FUSE, and on
//     overlayfs if the file is open for reading only. Immutable of [Options] promises that
//     there are none.
//   - The offset is past the mapping.
//   - The call is a write, and the file was opened with [os.O_APPEND] or [os.O_SYNC].
//   - A page fault could not be served.
//
// # Pages
//
// A page is read by system call until mapping it pays, so that no call waits for the disk
// in a page fault. During a page fault a goroutine keeps its P, so other goroutines wait as
// well. During a system call they go on. The rule has four parts:
//
//   - The first read of a page is a system call, unless the third part applies.
//   - The file is mapped after 48 calls that read pages again. A block of 64 KiB is read
//     from the mapping after 3 such calls to it. The first 31 calls on a File are not
//     recorded.
//   - After eight small reads in order, the next 512 KiB are read from the mapping if they
//     are in memory. The system reports that (cachestat(2), Linux 6.5). If they are not, it
//     is told that the file is read in order, so that it reads ahead further.
//   - What is known of pages is discarded when the process has major page faults. The
//     record takes 512 bytes for each 4 MiB that was read. Calls that need no new record
//     do not allocate.
//
// [File.View] and [File.Chunks] read at most the first 4 MiB of a range into memory by
// system call before user code sees it. Past that, user code takes the page fault when it
// accesses a page that is not in memory. The same holds for memory from [File.Bytes], [At]
// and [SliceAt]. [File.Advise] with [PopulateRead] avoids it. MajorFaults of [ReadStats]
// counts these faults.
//
// On a tmpfs a page is read from the mapping only once the system reports that it exists,
// because reading a hole through a mapping allocates memory. A page that is punched after
// that is allocated again by a read.
//
// # Writes
//
// A write to a page of the mapping costs some nanoseconds if the page was written before.
// The first write to a page after a [File.Sync] is a page fault, which costs more than a
// system call. So writes to a block of 64 KiB are system calls until mapped writes would
// have saved as much time as prefaulting the block costs. The package measures that cost.
// Then it prefaults the block in one call, and writes to it are copies until the next
// Sync. The page benchdata/policies.md has other rules that were tried.
//
// # Faults
//
// An access to a mapping faults if another process truncates the file, the disk is full, or
// the device fails. The place of the access decides what follows:
//
//   - In a method of File the fault becomes the error, or the end of file, that the same
//     call on an *os.File has.
//   - In the function given to [File.View] or [File.Guard] it becomes an error.
//   - In the body of a loop over [File.Chunks] it is a panic.
//   - Everywhere else, a fault in memory from [File.Bytes], [At] or [SliceAt] ends the
//     process.
//
// Even in View, Guard and Chunks, a fault inside the Go runtime ends the process: copy a
// value to a variable before sending it to a channel or printing it.
//
// # Concurrency
//
// [File] says what holds for concurrent calls.
//
// # Durability
//
// Written bytes are in the file when the call returns, also if they were written through
// the mapping. Every process sees them, and a process that is killed loses none. They
// survive a crash of the system after [File.Sync], [File.SyncRange] for their range, or a
// flush requested in [Options] has returned. If the File is private (see [Options]),
// written bytes never reach the file. Only that File has them, until Close.
//
// # Mapped writes and the kernel
//
// A mapped write is no system call, so the kernel does not know of it. So mapped writes
// come in periods. A period begins with a system call. The period ends 50 ms later, or
// earlier with Stat, Sync, Chmod or Close of the File. Then the File does for its mapped
// writes what the kernel does at a write:
//
//   - The modification time moves. It differs from the time of the last write by at most
//     100 ms, unless the process is stopped or gets no CPU. A time that a program sets
//     ([os.Chtimes]) stands, even if a mapped write of the same period came after it.
//   - Watchers (inotify) are always notified of the first write of a period. At the end they
//     are notified of its mapped writes, unless a program has set the time.
//   - On Linux the set-user-ID bit and capabilities are cleared, even if they were set
//     after the last write of the period.
//
// If the limit of the file size (RLIMIT_FSIZE) is lowered, it holds from the next period
// on. If a file system was shut down, writes return its error from the next period on. A
// File with a shared descriptor ([New], [File.Fd], [File.OS], [File.SyscallConn]) has no
// mapped writes, because other code can make the descriptor append (F_SETFL).
//
// [File.Truncate] waits for mapped writes. A truncation by another process or another File
// does not. If a mapped write is concurrent with such a truncation, only a part of the
// write may remain. A pwrite(2) comes entirely before or after the truncation.
//
// On a frozen file system (fsfreeze(8), a snapshot by LVM) a mapped write can stop the whole
// program. The page docs/known-issues.md has this, and all else that cannot be mended.
//
// Reading from the mapping does not move the access time.
//
// # Platforms
//
// Linux, the BSDs and macOS map files. Windows, Solaris and AIX map them for Bytes and View
// only, and if they are opened as immutable (see [Options]). Plan 9, js and wasip1, and every platform under the build tag nommap, map none.
// There all calls go to the *os.File, and Bytes and View work on copies in memory.
package mmapfile
