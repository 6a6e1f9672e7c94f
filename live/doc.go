// Package live maps a data file that other programs replace, such as a GeoIP database, a word
// list, an index or a configuration, and gives the current version to readers without making
// them wait.
//
//	load := func(f *mmapfile.File) (*maxminddb.Reader, error) {
//		return maxminddb.OpenBytes(f.Bytes())
//	}
//	db, err := live.Open("GeoLite2-City.mmdb", load)
//
//	err = db.Use(func(r *maxminddb.Reader) error {
//		return r.Lookup(ip).Decode(&record)
//	})
//
// A [Value] looks at the name of its file once a second, or as [Options] say. If another file
// has the name, or the file has changed, the Value waits until that version has been unchanged
// for a second, and makes a value of it with load. From then on, [Value.Use] gets the new
// version; the previous one is released after its last Use. If no file has the name, or the
// new version does not load or changes meanwhile, the current version stays, and
// [Options].OnError and [Value.Status] say why.
//
// A look takes one system call, and needs no notification service, so it works on every
// system and file system. Links are followed, so the Value also notices when Kubernetes
// switches the link of a ConfigMap. [Value.Refresh] looks at once, for example after a
// deployment.
//
// The API follows the version of the module: before v1 a minor version may change it, and the
// changelog says how.
//
// # How to replace the file
//
// Write the new version next to the file, and rename it. Then a version is never seen half
// written, and the old one does not change while it is in use:
//
//	cp new data.tmp
//	sync data.tmp
//	mv data.tmp data
//
// A file that is rewritten in place changes under its readers. Until the next version is
// loaded, they see a mixture. An access to a truncated page makes Use return an error, but the
// rest of the file's last page reads as zeros. [Options].Copy loads each version from a copy,
// which does not change.
//
// A program that writes through a shared mapping need not update the file's times at each
// write, so its changes may be seen late.
//
// # What a version is
//
// Two versions differ in their file, its size, its modification time or, on Unix, the time of
// its last change of any kind, which no program can set. So a link to the file that is made or
// removed makes a new version, too. A version that was loaded less than two seconds after its last
// change is loaded again once they have passed, because another change could have had the same
// times. A version that does not load is tried again at each look. A relative name is that of the
// working directory at the time of the look.
//
// # What is not promised
//
//   - Using memory of a version after Use faults once the version is released, and ends the
//     process; after a garbage collection it may read another version instead. In a goroutine
//     that the function of Use has started, and inside the Go runtime, any fault ends the
//     process: see [mmapfile.File.Guard].
//   - A fault ends the function of Use. A mutex that it has locked stays locked, unless
//     the function defers the unlock.
//   - A file that was replaced keeps its space on the disk until its version is released.
//   - A file that is mounted by itself into a container (a volume of Docker, subPath of
//     Kubernetes) stays the same one there, whatever takes its name outside. Mount its
//     directory.
//   - On a network file system, a change is seen when the attribute cache of the client
//     has expired, and accesses to the previous version may fail then, unless it is a
//     copy.
//   - Windows does not let a file be replaced while it is open. Set Copy there; while a
//     version is copied, a writer has to try again. If the process is killed, its copies
//     stay in the temporary directory. On other systems only a copy in progress does.
package live
