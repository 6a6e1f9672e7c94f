package raftlog

import (
	"iter"

	"go.dw1.io/mmapfile/eventlog"
)

// events is a stream whose sequence numbers are indexes, of the type that raft gives them.
type events struct{ *eventlog.Stream }

func (s events) First() uint64 { return uint64(s.Stream.First()) }
func (s events) Next() uint64  { return uint64(s.Stream.Next()) }

func (s events) Get(index uint64) (eventlog.Event, error) { return s.Stream.Get(int64(index)) }

func (s events) Events(from uint64) iter.Seq2[eventlog.Event, error] {
	return s.Stream.Events(int64(from))
}

func (s events) TruncateFront(first uint64) error { return s.Stream.TruncateFront(int64(first)) }
func (s events) TruncateBack(next uint64) error   { return s.Stream.TruncateBack(int64(next)) }
