// Package compare has benchmarks of raftlog beside raft-wal and raft-boltdb, and a test with raft-wal's verifier.
// "make raftlog" runs them in turns, and by hand they are
//
//	go -C raftlog/compare test -run '^$' -bench StoreLogs
package compare
