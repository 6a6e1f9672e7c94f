package raftlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

var errNoLog = errors.New("log entries are missing: the node must be removed from the cluster, and join it as a new one")

// checkLog returns an error if the log has lost entries: with them the node has voted, and a
// snapshot of its own has no others.
func (s *Store) checkLog() error {
	if s.restoring { // the leader sends them
		return nil
	}
	if !s.restored { // else the segments are new
		if err := s.checkAside(); err != nil {
			return err
		}
	}
	if err := s.stream.Check(); err != nil {
		return fmt.Errorf("%w; %w", err, errNoLog)
	}
	name := filepath.Join(s.dir, streamName)
	first, next, snapshot := uint64(s.stream.First()), uint64(s.stream.Next()), s.snapshot.Load()
	switch {
	case next == 0 && len(s.stable.keys) > 0, snapshot >= max(next, 1):
		return &fs.PathError{Op: "open", Path: name, Err: errNoLog}
	case snapshot > 0 && first > snapshot+1:
		return &fs.PathError{Op: "open", Path: name, Err: lost(snapshot+1, first)}
	}
	return nil
}

// lost is the error if there are no entries from index from up to before to.
func lost(from, to uint64) error { return fmt.Errorf("entries %d to %d: %w", from, to-1, errNoLog) }

// checkAside returns an error if the stream has set a segment aside, which it does if the one
// before lacks events. A crash does not leave that, since StoreLogs flushes each time. So a
// segment between them is lost. The name comes back, so that the next Open fails, too.
func (s *Store) checkAside() error {
	kept := s.stream.Recovery().Kept
	end := strings.LastIndex(kept, ".cut")
	if end < 0 || strings.HasPrefix(kept[end:], ".cut-") {
		return nil // events of one segment
	}
	name, from := kept[:end], uint64(s.stream.Next())
	var to uint64
	if _, err := fmt.Sscanf(filepath.Base(name), "%d.log", &to); err != nil {
		return err
	}
	err := s.stream.Close()
	if err == nil {
		err = os.Rename(kept, name)
	}
	return errors.Join(&fs.PathError{Op: "open", Path: name, Err: lost(from, to)}, err)
}
