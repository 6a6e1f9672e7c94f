// Package mmapfile is a replacement for [os.File] on memory-mapped files. A call site of
// [os.Open], [os.Create] or [os.OpenFile] compiles unchanged with the function of the same name
// here, and has the same results. A call at pages that come back is a copy from memory.
//
//	as in os   Open, Create, OpenFile, CreateTemp, OpenInRoot, NewFile, all methods
//	to open    New, OpenRoot, Options, DirFS
//	in place   View, Chunks; Bytes, At, SliceAt, and Guard around their use
//	durable    Sync, SyncRange, Options.Flush
//	memory     Advise, LockMemory, UnlockMemory, Resident
//	inside     OS, Len, ReadStats
//
// A [File] holds a real *os.File and, once that pays, a mapping of it. A call is answered from
// the mapping if it can be. Otherwise the whole call goes to the *os.File, so every odd case has
// its result. The names of package os stay as they are there. Before v1 a minor version may
// change the others, and the changelog says how.
//
// # Memory of a file
//
// [File.View], [File.Chunks], [File.Bytes], [At] and [SliceAt] give access to the file's memory.
// An access faults if another process truncates the file, the disk is full, or the device fails.
// In the function given to View or [File.Guard] the fault becomes an error, in a loop over
// Chunks a panic. Everywhere else, and inside the Go runtime, it ends the process. Methods that
// read and write have the result of os.File instead.
//
// An access to a page that is not in memory makes other goroutines wait for the disk, too. Reads
// do not, nor does a View of up to 4 MiB. [File.Advise] with [PopulateRead] avoids it.
//
// # More
//
// Linux, the BSDs and macOS map files. Windows, Solaris and AIX do so for Bytes, View and
// Options.Immutable. Plan 9, js, wasip1 and the tag nommap map none. The repository has
// docs/design.md, docs/compatibility.md and docs/known-issues.md.
package mmapfile
