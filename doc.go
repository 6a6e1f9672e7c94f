// Package mmapfile is a replacement for [os.File] that is backed by a memory
// mapping. A call site of [os.Open], [os.Create] or [os.OpenFile] compiles
// unchanged with the function of the same name here, and gets the same results,
// faster.
//
// # The file is the truth
//
// A [File] holds a real *os.File and, once that pays, a mapping of it. A call
// is answered from the mapping if it can be, and handed as a whole to the
// *os.File if it cannot: a page that is not known to be in memory, a file that
// cannot be mapped (a directory, pipe, socket, device, a file in /proc, an empty
// one, one open for writing only) or whose mapping may not show changes (on
// network file systems, FUSE, and overlayfs if open for reading only), an
// offset past the mapping, a write with [os.O_APPEND] or [os.O_SYNC], and a page
// fault that could not be served. So every odd case has os.File's result,
// because os.File produced it.
//
// # Pages
//
// A page is read by system call until it has paid to map it, so that no call
// waits for the disk in a page fault. (There a goroutine keeps its P, and other
// goroutines wait as well. In a system call they go on.) The rule has four parts:
//
//   - The first pass over a file, in any order, is made of os.File's system calls.
//   - The file is mapped once 48 calls came back to pages that were read before.
//     Each 64 KiB of it are read from the mapping after 3 such calls. Nothing is
//     noted before the 32nd call.
//   - After eight small reads in order the next 512 KiB are read from the mapping,
//     if the system says that they are in memory (cachestat(2), Linux 6.5).
//   - What is known of pages is forgotten when the process has major page faults.
//
// [File.View] and [File.Chunks] read a range into memory by system call before
// user code sees it, up to 4 MiB. Past that, and in memory from [File.Bytes],
// [At] and [SliceAt], a page that is not in memory is a page fault of the program's
// own; [File.Advise] with [PopulateRead] avoids it. [ReadStats] has figures.
//
// On a tmpfs all calls are system calls: to read a hole of a mapping would give
// it memory.
//
// # Writes
//
// A write to a page of the mapping that is prefaulted costs some nanoseconds. The
// first one after a [File.Sync] is a page fault, which costs more than a system
// call. So the writes of each 64 KiB are system calls until mapped ones would
// have saved what prefaulting costs, which is measured. Then they are copies,
// until the next Sync. Other rules that were tried are in benchdata/policies.
//
// # Faults
//
// If another process truncates the file, the disk is full, or the device
// fails, touching a mapping is a fault. Inside the methods of File, and inside
// the function given to [File.View], a fault never ends the process: it becomes
// the error, or the end of file, that the same call on an *os.File has. It does
// end the process outside of them, when memory that [File.Bytes], [At] or
// [SliceAt] returned is touched; in the body of a loop over [File.Chunks] it is
// a panic, and in the function given to [File.Guard] an error.
// In View, Guard and Chunks, too, it ends the process if the Go runtime itself touches the
// memory: copy a value to a variable before it is sent to a channel or printed, since
// ch <- p[i] reads it under a lock of the runtime.
//
// # Concurrency
//
// Every method may be called from any number of goroutines, Close included. A
// read at an offset takes no lock; writes of one File that overlap are ordered;
// Read, Write and Seek share the cursor and are each atomic with respect to it.
// No lock is held while a foreign [io.Reader] or [io.Writer] runs.
//
// # Durability
//
// Written bytes are in the file when the call returns, whether they went
// through the mapping or not: every process sees them, and a killed one loses
// nothing. They survive a crash of the system once [File.Sync] has returned, or
// [File.SyncRange] for their range, or a flush that [Options] asked for. A private
// File (see [Options]) keeps what is written to itself.
//
// # Mapped writes and the kernel
//
// A mapped write is no system call, so the kernel does not know of it. The first write of a
// period is a system call. The period ends after 50 ms, or with Stat, Sync, Chmod or Close of
// the File. Then the File does for its mapped writes what the kernel does at a write:
//
//   - The modification time moves. It is at most 100 ms older or later than the last write,
//     unless the process is stopped or gets no CPU. A time that a program sets
//     ([os.Chtimes]) stands, even if a mapped write of the same period came after it.
//   - Watchers are notified (inotify), unless a program has set the time. They are notified
//     of the first write of each period in any case.
//   - On Linux the set-user-ID bit and capabilities go, even if they were set after the last
//     write of the period.
//
// A limit of the file size that is lowered (RLIMIT_FSIZE) holds from the next period on, and
// so does the error of a file system that was shut down. A File whose descriptor is shared
// ([New], [File.Fd], [File.OS], [File.SyscallConn]) has no mapped writes: the descriptor may
// come to append (F_SETFL).
//
// [File.Truncate] waits for mapped writes. A truncation by another process or another
// File does not: a mapped write beside one may be kept in part, whereas pwrite(2) comes before
// it or after it.
//
// On a frozen file system (fsfreeze(8), a snapshot by LVM) a write waits. In a system call
// that is one goroutine. If there was a mapped write in the 50 ms before, the next one waits
// in a page fault, and the garbage collector waits for that; Stat and Close wait as well.
//
// Reading from the mapping does not move the access time.
//
// # Platforms
//
// Linux, the BSDs, macOS and Windows map files; Solaris and AIX for Bytes and
// View alone. Plan 9, js and wasip1, and every platform under the build tag nommap, do not: there all
// calls go to the *os.File, and Bytes and View work on copies in memory.
package mmapfile
