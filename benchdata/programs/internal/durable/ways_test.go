package durable

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"os"
	"sync"

	"github.com/hashicorp/raft"
	raftwal "github.com/hashicorp/raft-wal"
	"github.com/tidwall/wal"

	"go.dw1.io/mmapfile/eventlog"
)

// bare writes events without headers into a file that was filled with zeros before, and synced:
// the least that a durable append can be. Every append is a write and an fdatasync.
type bare struct {
	f    *os.File
	mu   sync.Mutex
	off  int64
	text []byte
}

const bareSize = 8 << 20

func openBare(name string) (eventLog, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	zeros := make([]byte, 1<<20)
	for off := int64(0); off < bareSize; off += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros, off); err != nil {
			return nil, err
		}
	}
	return &bare{f: f}, f.Sync()
}

func (l *bare) append(events [][]byte) error {
	if err := l.write(events); err != nil {
		return err
	}
	return datasync(l.f)
}

func (l *bare) write(events [][]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = l.text[:0]
	for _, p := range events {
		l.text = append(l.text, p...)
	}
	if l.off+int64(len(l.text)) > bareSize {
		l.off = 0
	}
	_, err := l.f.WriteAt(l.text, l.off)
	l.off += int64(len(l.text))
	return err
}

func (l *bare) Close() error { return l.f.Close() }

// buffered writes entries with the time left out to a file that grows, and syncs it.
type buffered struct {
	mu sync.Mutex
	f  *os.File
	w  *bufio.Writer
}

func openBuffered(name string) (eventLog, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	return &buffered{f: f, w: bufio.NewWriterSize(f, 64<<10)}, nil
}

func (l *buffered) append(events [][]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var h [16]byte
	for _, p := range events {
		binary.LittleEndian.PutUint32(h[8:], uint32(len(p)))
		binary.LittleEndian.PutUint32(h[12:], crc32.ChecksumIEEE(p))
		l.w.Write(h[:])
		l.w.Write(p)
	}
	if err := l.w.Flush(); err != nil {
		return err
	}
	return l.f.Sync()
}

func (l *buffered) Close() error { return l.f.Close() }

// raftLog is github.com/hashicorp/raft-wal.
type raftLog struct {
	mu    sync.Mutex
	l     *raftwal.WAL
	index uint64
	logs  []*raft.Log
}

func openRaft(dir string) (eventLog, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	l, err := raftwal.Open(dir)
	if err != nil {
		return nil, err
	}
	return &raftLog{l: l}, nil
}

func (l *raftLog) append(events [][]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(events) == 1 {
		l.index++
		return l.l.StoreLog(&raft.Log{Index: l.index, Data: events[0]})
	}
	l.logs = l.logs[:0]
	for _, p := range events {
		l.index++
		l.logs = append(l.logs, &raft.Log{Index: l.index, Data: p})
	}
	return l.l.StoreLogs(l.logs)
}

func (l *raftLog) Close() error { return l.l.Close() }

// tidwallLog is github.com/tidwall/wal, which syncs each write by default.
type tidwallLog struct {
	mu    sync.Mutex
	l     *wal.Log
	index uint64
	batch wal.Batch
}

func openTidwall(dir string) (eventLog, error) {
	l, err := wal.Open(dir, nil)
	if err != nil {
		return nil, err
	}
	return &tidwallLog{l: l}, nil
}

func (l *tidwallLog) append(events [][]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(events) == 1 {
		l.index++
		return l.l.Write(l.index, events[0])
	}
	for _, p := range events {
		l.index++
		l.batch.Write(l.index, p)
	}
	return l.l.WriteBatch(&l.batch)
}

func (l *tidwallLog) Close() error { return l.l.Close() }

// events is this module's package.
type events struct{ *eventlog.Log }

func openEvents(name string) (eventLog, error) {
	l, err := eventlog.Open(name, eventlog.Options{})
	if err != nil {
		return nil, err
	}
	return events{l}, nil
}

func (l events) append(events [][]byte) error {
	if len(events) == 1 {
		_, err := l.AppendSync(events[0])
		return err
	}
	if _, err := l.AppendBatch(events...); err != nil {
		return err
	}
	return l.Sync()
}
