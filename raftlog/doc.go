// Package raftlog keeps a stream of events on several machines, through
// [github.com/hashicorp/raft]. The log of raft is an [eventlog.Stream], and the state
// machine is that log, so each machine writes an event once.
//
//	s, err := raftlog.Open("data", raftlog.Options{})
//	fsm := raftlog.NewFSM(s)
//	r, err := raft.NewRaft(config, fsm, s, s, s.Snapshots(), transport)
//
//	err = r.Apply([]byte("hello"), time.Second).Error() // on the leader
//
//	for e, err := range fsm.Follow(ctx, 0) { // on any machine
//
// This module is v0: a minor version may change its API, what it keeps in its directory,
// and what nodes send each other. The changelog says how to go from one version to the
// next.
//
// The Index of an event is that of its entry in raft's log, the same on every machine.
// Raft's own entries have indexes, too, so the indexes of events have gaps.
//
// # Durability
//
// An event whose Apply has returned nil is durable on a majority of the machines. A machine
// confirms an event only after it is durable there: StoreLogs returns after the flush.
//
// # Retention
//
// When raft takes a snapshot, it deletes the log entries, and so the events, up to the
// snapshot, except for the last TrailingLogs of raft.Config. Raft's own entries count, so
// fewer events may be kept. SnapshotInterval and SnapshotThreshold say how often that
// happens. A snapshot is an index, and takes a few KiB. A file of 64 KiB reserves space for
// it on a full disk.
//
// If raft deletes its whole log, as raft.RecoverCluster does, and any snapshot with
// TrailingLogs 0 may, the events stay until it deletes a part of the log.
//
// A machine that lacks more than the log still has gets a snapshot with all events that the
// leader has. It needs the space for them twice while it restores them. On a full disk it
// can be started, but follows only once the leader has sent them again, or Open has
// restored them.
//
// Restore of raft.Raft takes a snapshot of another cluster, or an older one, only if the
// stream has not dropped events from the snapshot's first on. A new cluster has dropped none.
//
// # RestoreCommittedLogs
//
// A Store refuses RestoreCommittedLogs of raft.Config: raft.NewRaft returns
// raft.ErrIncompatibleLogStore. With that option, raft v1.8.0 loses the members on a node
// without a snapshot, and NewRaft never returns if more than 128 batches are to be applied.
// Without it, a node applies its entries once a leader has told it the commit index.
//
// # Security
//
// The transport and the membership are raft's: see raft.NewNetworkTransport for TLS, and
// AddVoter and RemoveServer of raft.Raft.
package raftlog
