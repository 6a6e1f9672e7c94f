// Package mmapfile provides a [File] that replaces *[os.File] at a call site and is backed by a
// memory mapping. [Open], [Create], [OpenFile], [CreateTemp] and [OpenInRoot] take what those of
// package os take, and a File has all methods of os.File, with the same results and errors. Code
// that needs the type *os.File, or keeps os.OpenFile as a value, has to change as well.
//
// A File wraps an *os.File. Its first 32 calls are only counted. After 8 more on pages that it
// had read before, it maps the file, unless earlier mappings have not paid yet. From 2 such reads
// in a block of 64 KiB on, a read there is a memory copy, with no system call. Writes use the
// mapping when that is faster. A call that the mapping cannot answer goes to the *os.File as a
// whole, so edge cases behave exactly as they do there.
//
// # Memory of a file
//
//	you want                        use      a fault after a truncation
//	a part, while a function runs   View     is the error of View
//	all of it, in windows           Chunks   is a panic in the body of the loop
//	the whole file as one slice     Bytes    ends the process
//	a value in place, as a counter  At       ends the process
//	an array of values in place     SliceAt  ends the process
//	to run code that uses these     Guard    is the error of Guard
//
// A page that was truncated faults; the rest of the page with the new end reads as zeros. A hole
// faults if the disk is full, and a page if the device fails. The table applies to the goroutine
// that runs the function or the loop. In others, and inside the Go runtime, a fault ends the
// process. Read, ReadAt, Write and WriteAt return what those of os.File return. They avoid loads
// from the disk in place, which stall other goroutines.
//
// # Platforms
//
// Linux, the BSDs and macOS map files. Windows, Solaris and AIX map them only for the memory
// above and with [Options].Immutable. Plan 9, js, wasip1 and the build tag nommap have no
// mappings. Before v1, a minor version may change names that package os does not have. See also
// docs/known-issues.md.
package mmapfile
