// Package eventlog keeps a stream of events in one file: one process appends, at
// the speed of memory, and any number of them read, follow and search it
// meanwhile, without a copy.
//
//	l, err := eventlog.Open("events.log", eventlog.Options{})
//	off, err := l.Append([]byte("hello"))
//
//	r, err := eventlog.OpenReader("events.log")
//	for e, err := range r.Follow(ctx, 0) {
//
// FORMAT.md beside this package describes the file byte by byte, for readers in
// other languages. It is on a local file system: mappings of network file systems
// are no memory that machines share.
//
// Appends take turns. Of large events several goroutines append more in total than
// one, and of small ones nearly as much, since each has its turn for some tens of
// microseconds: [Log.AppendBatch] takes many in one.
//
// # What is kept, and when
//
// An event whose append has returned is in the file: all readers see it, and it
// stays if the process is killed. It stays after a crash of the system, too, once
// [Log.Sync] has returned, or [Log.Close], or a flush that [Options] ask for. A
// crash before that loses events from the end, or leaves ones that are not
// whole, which the next [Open] cuts off: what is left is a beginning of what was
// appended, with all that had been synced.
//
// # Damage
//
// Each event has a checksum. A log can be cut, overwritten or made up by somebody
// else: that is an error, a *[CorruptError] for the most part, and never the end of
// the process, an endless loop, or more memory than the file has bytes. A page
// fault, where somebody cuts a file that is mapped, is an error as well, in
// everything that this package does itself. In the body of a loop over events it
// is a panic; where Data is touched elsewhere it ends the process, as
// [go.dw1.io/mmapfile.File.Bytes] says.
//
// # Platforms
//
// Where files are not mapped (Plan 9, js, wasip1, the build tag nommap, and a
// file for which there is no address space left), all goes through system calls:
// the same file, the same promises, and a fraction of the speed.
package eventlog
