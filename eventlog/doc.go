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
// numbers, old ones can be removed, and so can the newest.
//
//	s, err := eventlog.OpenStream("events", eventlog.StreamOptions{RetainBytes: 10 << 30})
//	seq, err := s.AppendSync([]byte("hello"))
//
// The command eventlog/cmd/eventlog prints, follows, verifies and repairs logs and streams.
// [ReadStats] has figures about those that this process writes.
//
// The format of the files is stable from the first tag on. The API follows the version of the
// module: before v1 a minor version may change it, and the changelog says how.
//
// FORMAT.md describes the files byte by byte, for readers in other languages. They must be
// on a local file system: other machines do not share mapped memory.
//
// One append runs at a time, but [Log.Append] and [Stream.Append] compute checksums at the same
// time. Several goroutines append large events to a Log faster than one, and small ones slower.
// [Log.AppendBatch] appends many small events at once.
//
// # Durability
//
// An event whose append has returned is in the file: all readers see it, and it outlives the
// process. It outlives a crash of the system once a flush has made it durable:
// [Log.AppendSync], [Log.Sync], [Log.Close], or one that [Options] ask for. Goroutines that
// wait for a flush at the same time share one, and [Log.Durable] returns up to where events
// are durable. Without a flush a crash loses events from the end, or leaves ones that are not
// whole, which the next [Open] truncates. The rest is the beginning of what was appended, with
// everything that was durable.
//
// After a flush has failed, the system may still show events that the disk does not have, to every
// process. So the next [Open] or [OpenStream] of a log that was not closed in order reads the disk:
// what no flush has made durable may be gone, also for a reader that has it mapped. On Linux that
// takes posix_fadvise(2) or O_DIRECT, which disks' file systems have. On other systems Open
// relies on its own flush.
//
// # Damage
//
// Each event has a checksum. A log may be truncated or overwritten by another program, or
// fabricated. That is an error, a *[CorruptError] in most cases. No function of the package
// ends the process, loops for ever, or needs more memory than the file has bytes. Truncating a
// mapped file causes page faults. They are errors in all functions of this package. In the
// body of a loop over events a fault is a panic. Elsewhere, touching Data that was truncated
// ends the process, as [go.dw1.io/mmapfile.File.Bytes] says.
//
// An offset that comes from a client is not to be trusted: see [Log.Events].
//
// # Platforms
//
// If files are not mapped (Plan 9, js, wasip1, the build tag nommap, or too little address
// space), all reads and writes are system calls. The file and the guarantees are the same, and
// the speed is a fraction.
package eventlog
