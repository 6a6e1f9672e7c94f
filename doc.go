// Package mmapfile is a replacement for [os.File] that is backed by a memory mapping. A
// call site of [os.Open], [os.Create] or [os.OpenFile] compiles unchanged with the function
// of the same name here. It gets the same results, faster.
//
// Names that package os has stay as they are there. Before v1 a minor version may change
// the others, and the changelog says how.
//
// A [File] holds a real *os.File and, once that pays, a mapping of it. A call is answered
// from the mapping if it can be. Otherwise the whole call goes to the *os.File, so every
// odd case has its result. In the repository, docs/design.md says how it works,
// docs/compatibility.md what differs, and docs/known-issues.md what cannot be mended.
//
// # Memory of a file
//
// [File.View], [File.Chunks], [File.Bytes], [At] and [SliceAt] give access to the file's
// memory. An access faults if another process truncates the file, the disk is full, or the
// device fails. In the function given to View or [File.Guard] the fault becomes an error,
// in a loop over Chunks a panic. Everywhere else, and inside the Go runtime, it ends the
// process. Methods that read and write have the result of os.File instead.
//
// An access to a page that is not in memory makes other goroutines wait for the disk, too.
// Reads do not, nor does a View of up to 4 MiB. [File.Advise] with [PopulateRead] avoids it.
//
// # Durability
//
// Written bytes are in the file when the call returns; a killed process loses none. They
// survive a crash of the system after [File.Sync], [File.SyncRange], or a flush requested in
// [Options].
//
// # Platforms
//
// Linux, the BSDs and macOS map files. Windows, Solaris and AIX do so for Bytes, View and
// Options.Immutable. Plan 9, js, wasip1 and the tag nommap map none.
package mmapfile
