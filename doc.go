// Package mmapfile is a replacement for [os.File] that is backed by a memory
// mapping. A call site of [os.Open], [os.Create] or [os.OpenFile] compiles
// unchanged with the function of the same name here, and gets the same results,
// faster.
//
// # The file is the truth
//
// A [File] holds a real *os.File and, once that pays, a mapping of it. A call
// is answered from the mapping where it can be, and handed as a whole to the
// *os.File where it cannot: before the file is mapped (that happens after some
// sixteen calls, more where they are far apart, or once twice the file's size
// was moved; [File.Bytes] and [File.View] map at once), for what cannot be mapped (a directory, pipe,
// socket, device, a file in /proc, an empty one, one open for writing only) or
// may change where a mapping does not show it (on network file systems, FUSE,
// and overlayfs if open for reading only), beyond the mapping, for a write with
// [os.O_APPEND] or [os.O_SYNC], and after a page fault that could not be
// served. So every odd case has os.File's result, because os.File produced it.
//
// # Faults
//
// Where another process cuts the file, or the disk is full under a hole, or the
// device fails, touching a mapping is a fault. Inside the methods of File, and
// inside the function given to [File.View], a fault never ends the process: it
// becomes the error, or the end of file, that the same call on an *os.File
// has. It does end the process outside of them, where memory that
// [File.Bytes], [At] or [SliceAt] returned is touched; in the body of a loop over
// [File.Chunks] it is a panic.
//
// # Concurrency
//
// Every method may be called from any number of goroutines, Close included. A
// read at an offset takes no lock; writes of one File that overlap take turns;
// Read, Write and Seek share the cursor and are each atomic with respect to it.
// No lock is held while somebody else's [io.Reader] or [io.Writer] runs.
//
// # Durability
//
// Written bytes are in the file when the call returns, whether they went
// through the mapping or not: every process sees them, and a killed one loses
// nothing. They survive a crash of the system once [File.Sync] has returned, or
// [File.SyncRange] for their range, or a flush that [Options] asked for. A private
// File (see [Options]) keeps what is written to itself.
//
// A write through the mapping is no system call, though. The file's
// modification time has moved when Stat, Sync or Close of the File return, not
// always before, and inotify reports the first of several writes alone.
//
// # Writes
//
// A store into a page of the mapping that is ready for it costs some
// nanoseconds; the first one after a read or a [File.Sync] costs more than a
// system call. So a File counts for each 64 KiB, more in files from 1 GiB on,
// what stores would have saved there, and stores once that is what making them
// ready costs, both of which it measures as it goes: places that are written
// many times between two calls of Sync become copies, and others stay system
// calls, as with os.File. Where that has made a Sync longer than it was worth,
// or where others write the pages back all the time, it leaves off for a while.
// What else was tried is in benchdata/policies.
//
// # Platforms
//
// Linux, the BSDs, macOS and Windows map files; Solaris and AIX for Bytes and
// View alone. Plan 9, js and wasip1, and every platform under the build tag nommap, do not: there all
// calls go to the *os.File, and Bytes and View work on copies in memory.
package mmapfile
