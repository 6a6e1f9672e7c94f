// Package eventlog keeps a log of events in one file. One process appends at the speed of
// memory. Any number of processes read, follow and search the log meanwhile, without a copy.
//
//	l, err := eventlog.Open("events.log", eventlog.Options{})
//	off, err := l.Append([]byte("hello"))
//
//	r, err := eventlog.OpenReader("events.log")
//	for e, err := range r.Follow(ctx, 0) {
//
// A [Stream] is a log in a directory, one file after the other. Its events have sequence
// numbers, and the oldest and the newest events can be removed.
//
//	o := eventlog.StreamOptions{RetainBytes: 10 << 30}
//	s, err := eventlog.OpenStream("events", o)
//	seq, err := s.AppendSync([]byte("hello"))
//
// A Log and a Stream are for the process that writes, readers for all others:
//
//	you want                                use           from
//	to append events to one file            Log           Open
//	to number events, and remove old ones   Stream        OpenStream
//	to read or follow a log                 Reader        OpenReader
//	to read or follow a stream              StreamReader  OpenStreamReader
//
// The command eventlog/cmd/eventlog prints, follows, verifies and repairs logs and streams.
// [ReadStats] has figures about those that this process writes.
//
// The format of the files is stable from the first tag on. The API follows the version of the
// module: before v1 a minor version may change it, and the changelog says how.
//
// FORMAT.md describes the files byte by byte, for readers in other languages. The files must
// be on a local file system, because other machines do not share mapped memory.
//
// One append runs at a time, but [Log.Append] and [Stream.Append] compute checksums in
// parallel. So several goroutines append large events to a Log faster than one, and small ones
// slower. [Log.AppendBatch] appends many small events at once.
//
// # Durability
//
// An event whose append has returned is in the file: all readers see it, and it outlives the
// process. It outlives a crash of the system once a flush has made it durable:
// [Log.AppendSync], [Log.Sync], [Log.Close], or one that [Options] ask for. Goroutines that
// wait for a flush at the same time share one. [Log.Durable] returns the end of the durable
// events. Without a flush, a crash loses events from the end, or leaves incomplete ones, which
// the next Open truncates. What remains is the beginning of what was appended, with everything
// that was durable.
//
// After a flush has failed, the system may still show events that the disk does not have, to
// every process. So the next Open or OpenStream of a log that was not closed in order reads
// the disk: events that no flush has made durable may be gone. A reader that has seen one of
// them ends its loops with [ErrTruncated]. On Linux, reading the disk takes posix_fadvise(2)
// or O_DIRECT, which file systems on disks have. On other systems, Open relies on its own
// flush.
//
// # Errors
//
// To fail with an error such as [ErrFull] means, in this package, to return a *[fs.PathError]
// for which [errors.Is] reports it. A *[CorruptError] is inside one as well: use [errors.As].
//
// # Damage
//
// Each event has a checksum. A log that another program has truncated, overwritten or made up
// is an error, a *CorruptError in most cases. One that was truncated to a length that a crash
// may leave, such as the end of an event or a multiple of 4096, opens with the events that are
// left. No function of the package ends the process, loops for ever, or needs more memory than
// the file has bytes.
//
// Truncating a mapped file causes page faults. Functions of this package return them as
// errors. In the body of a loop over events, a fault is a panic. Elsewhere, an access to Data
// that was truncated ends the process, as for [go.dw1.io/mmapfile.File.Bytes].
//
// Do not trust an offset that comes from a client: see [Log.Events].
//
// # Platforms
//
// If files are not mapped (Plan 9, js, wasip1, the build tag nommap, or too little address
// space), all reads and writes are system calls. The file and the guarantees are the same, but
// calls are many times slower.
package eventlog
