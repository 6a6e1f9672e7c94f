// Package mmapfile provides a [File] that replaces *[os.File] at a call site and is backed by a
// memory mapping. [Open], [Create], [OpenFile], [CreateTemp] and [OpenInRoot] take what those of
// package os take, and a File has all methods of os.File, with the same results and errors. Only
// code that names the type *os.File, or keeps os.OpenFile as a value, has to change as well.
//
// A File wraps an *os.File. After 16 reads of pages that it had read before, it also maps the
// file; a read in a block of 64 KiB that was read again three times is then a memory copy, with
// no system call. Writes use the mapping when that is faster. A call that the mapping cannot
// answer goes to the *os.File as a whole, so edge cases behave exactly as they do there.
//
// # Memory of a file
//
//	you want                        use      after another process truncates
//	a part, while a function runs   View     it returns an error
//	all of it, in windows           Chunks   the body of the loop panics
//	the whole file as one slice     Bytes    an access ends the process
//	a value in place, as a counter  At       an access ends the process
//	an array of values in place     SliceAt  an access ends the process
//	to run code that uses these     Guard    it returns an error
//
// An access also faults if the disk is full under a hole, or if the device fails. The table
// applies only to the goroutine that runs the function or the loop. In other goroutines, and
// inside the Go runtime, a fault ends the process. Read, ReadAt, Write and WriteAt return what
// those of os.File return.
//
// An access that loads a page from the disk can stall other goroutines; Read and ReadAt do not.
//
// # Platforms
//
// Linux, the BSDs and macOS map files. Windows, Solaris and AIX map them only for the memory
// above and with [Options].Immutable. Plan 9, js, wasip1 and the build tag nommap have no
// mappings. Before v1, a minor version may change names that package os does not have. See also
// docs/known-issues.md.
package mmapfile
