package raftlog

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

var errNoLog = errors.New("log entries are missing: the node must be removed from the cluster, and join it as a new one")

// checkLog returns an error if the log has lost entries: with them the node has voted, and a
// snapshot of its own has no others.
func (s *Store) checkLog() error {
	if s.restoring.Load() { // the leader sends them
		return nil
	}
	if err := s.stream.Check(); err != nil {
		return fmt.Errorf("%w; %w", err, errNoLog)
	}
	name := filepath.Join(s.dir, streamName)
	first, next, snapshot := s.stream.First(), s.stream.Next(), s.snapshot.Load()
	switch {
	case next == 0 && len(s.stable.keys) > 0, snapshot >= max(next, 1):
		return &fs.PathError{Op: "open", Path: name, Err: errNoLog}
	case snapshot > 0 && first > snapshot+1:
		return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("entries %d to %d: %w", snapshot+1, first-1, errNoLog)}
	}
	return nil
}
