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
//   - A page of the range is not known to be in memory.
//   - The file cannot be mapped: a directory, pipe, socket or device, a file in /proc, an
//     empty file, or one open for writing only.
//   - A mapping may not show changes: on network file systems, FUSE, and overlayfs if open
//     for reading only.
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
//   - The first pass over a file, in any order, consists of os.File's system calls.
//   - The file is mapped once 48 calls came back to pages that were read before. Each block
//     of 64 KiB is read from the mapping after 3 such calls. Nothing is recorded before the
//     32nd call.
//   - After eight small reads in order, the next 512 KiB are read from the mapping if they
//     are in memory. The system reports that (cachestat(2), Linux 6.5).
//   - What is known of pages is discarded when the process has major page faults.
//
// [File.View] and [File.Chunks] read a range into memory by system call before user code
// sees it, up to 4 MiB. Past that, a page that is not in memory is a page fault of the
// program's own. The same holds for memory from [File.Bytes], [At] and [SliceAt].
// [File.Advise] with [PopulateRead] avoids it. [ReadStats] has figures.
//
// On a tmpfs all calls are system calls, because reading a hole through a mapping allocates
// memory.
//
// # Writes
//
// A write to a prefaulted page of the mapping costs some nanoseconds. The first write to a
// page after a [File.Sync] is a page fault, which costs more than a system call. So the
// writes of each block of 64 KiB are system calls until mapped writes would have saved the
// cost of prefaulting, which is measured. Then they are copies, until the next Sync. The
// directory benchdata/policies has other rules that were tried.
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
//   - Everywhere else, an access to memory from [File.Bytes], [At] or [SliceAt] ends the
//     process.
//
// In View, Guard and Chunks, too, the process ends if the Go runtime itself accesses the
// memory. For example, ch <- p[i] reads p[i] under a lock of the runtime. So copy a value
// to a variable before sending it to a channel or printing it.
//
// # Concurrency
//
// [File] says what holds for concurrent calls.
//
// # Durability
//
// Written bytes are in the file when the call returns, also if they were written through
// the mapping. Every process sees them, and a process that is killed loses none. They
// survive a crash of the system once [File.Sync] has returned, [File.SyncRange] for their
// range, or a flush that [Options] asked for. A private File (see [Options]) keeps what is
// written to itself.
//
// # Mapped writes and the kernel
//
// A mapped write is no system call, so the kernel does not know of it. The first write of a
// period is a system call. The period ends after 50 ms, or with Stat, Sync, Chmod or Close
// of the File. Then the File does for its mapped writes what the kernel does at a write:
//
//   - The modification time moves. It is at most 100 ms older or later than the last write,
//     unless the process is stopped or gets no CPU. A time that a program sets
//     ([os.Chtimes]) stands, even if a mapped write of the same period came after it.
//   - Watchers are notified (inotify), unless a program has set the time. They are notified
//     of the first write of each period in any case.
//   - On Linux the set-user-ID bit and capabilities are cleared, even if they were set
//     after the last write of the period.
//
// If the limit of the file size (RLIMIT_FSIZE) is lowered, it holds from the next period
// on. The same is true of the error of a file system that was shut down. A File with a
// shared descriptor ([New], [File.Fd], [File.OS], [File.SyscallConn]) has no mapped writes,
// because other code can make the descriptor append (F_SETFL).
//
// [File.Truncate] waits for mapped writes. A truncation by another process or another File
// does not. A mapped write concurrent with one may be kept in part, whereas pwrite(2) comes
// before it or after it.
//
// On a frozen file system (fsfreeze(8), a snapshot by LVM) a write waits. In a system call
// only that goroutine waits. If there was a mapped write in the 50 ms before, the next one
// waits in a page fault. The garbage collector waits for that, and so do Stat and Close.
//
// Reading from the mapping does not move the access time.
//
// # Platforms
//
// Linux, the BSDs, macOS and Windows map files. Solaris and AIX map them for Bytes and View
// only. Plan 9, js and wasip1, and every platform under the build tag nommap, map none.
// There all calls go to the *os.File, and Bytes and View work on copies in memory.
package mmapfile
