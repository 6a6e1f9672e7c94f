package raftlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"go.dw1.io/mmapfile/internal/logdisk"
)

// stable is a small map of which every change is durable and atomic. Its file has two slots of
// equal size, which are written in turn: a crash damages at most the older one.
//
//	4 bytes  CRC-32C of the bytes that follow, up to the end of the content
//	4 bytes  length of the content
//	8 bytes  generation: the valid slot with the higher one counts
//	8 bytes  base, see Store
//	content  for each key: uvarint and key, uvarint and value
//
// A map that outgrows its slot moves to a new file, which is renamed over the old one.
type stable struct {
	name string

	mu     logdisk.Mutex
	f      logdisk.File
	slot   int64 // size of a slot
	gen    uint64
	base   uint64
	keys   map[string][]byte
	buf    []byte
	closed error // why nothing can be written any more
}

const (
	slotHeader = 24
	minSlot    = 4096 // a slot has pages of its own
	maxSlot    = 64 << 20
)

var (
	castagnoli  = crc32.MakeTable(crc32.Castagnoli)
	errStable   = errors.New("neither slot of the stable store is whole")
	errNoStable = errors.New("missing, and with it the term and the vote of the node")
	errTooBig   = errors.New("stable store is full")
)

func openStable(name string) (*stable, error) {
	s := &stable{name: name, keys: map[string][]byte{}}
	b, err := readStored(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, s.rewrite(minSlot)
	case err != nil:
		return nil, err
	}
	if err := s.parse(b); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if err := syncDir(filepath.Dir(name)); err != nil { // rewrite may have failed to
		return nil, err
	}
	return s, s.reopen()
}

// parse reads both slots.
func (s *stable) parse(b []byte) error {
	s.slot = int64(len(b)) / 2
	if s.slot < minSlot || int64(len(b)) != 2*s.slot {
		return errStable
	}
	content, found := []byte(nil), false
	for _, slot := range [][]byte{b[:s.slot], b[s.slot:]} {
		n := int64(binary.LittleEndian.Uint32(slot[4:]))
		if n > s.slot-slotHeader || binary.LittleEndian.Uint32(slot) != crc32.Checksum(slot[4:slotHeader+n], castagnoli) {
			continue
		}
		if gen := binary.LittleEndian.Uint64(slot[8:]); !found || gen > s.gen {
			s.gen, s.base, found = gen, binary.LittleEndian.Uint64(slot[16:]), true
			content = slot[slotHeader : slotHeader+n]
		}
	}
	d := decoder{b: content, failed: !found}
	for len(d.b) > 0 && !d.failed {
		key := d.bytes()
		s.keys[string(key)] = append([]byte(nil), d.bytes()...)
	}
	if d.failed {
		return errStable
	}
	return nil
}

// get returns a copy of the value, nil if there is none.
func (s *stable) get(key []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil {
		return nil, s.closed
	}
	return append([]byte(nil), s.keys[string(key)]...), nil
}

func (s *stable) set(key, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := maps.Clone(s.keys)
	s.keys[string(key)] = append([]byte(nil), value...)
	err := s.write()
	if err != nil {
		s.keys = before
	}
	return err
}

func (s *stable) setBase(base uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.base
	s.base = base
	err := s.write()
	if err != nil {
		s.base = before
	}
	return err
}

// write makes the map durable as the next generation. After an error the one before counts, or
// this one: the next call overwrites the same slot.
func (s *stable) write() error {
	if s.closed != nil {
		return s.closed
	}
	b := s.encode(s.gen + 1)
	if int64(len(b)) > s.slot {
		slot := s.slot
		for slot < int64(len(b)) {
			slot *= 2
		}
		if slot > maxSlot {
			return &fs.PathError{Op: "write", Path: s.name, Err: errTooBig}
		}
		return s.rewrite(slot)
	}
	if err := writeDurably(s.f, b, int64((s.gen+1)%2)*s.slot); err != nil {
		return err
	}
	s.gen++
	return nil
}

func (s *stable) encode(gen uint64) []byte {
	b := append(s.buf[:0], make([]byte, slotHeader)...)
	for key, value := range s.keys {
		b = binary.AppendUvarint(b, uint64(len(key)))
		b = append(b, key...)
		b = binary.AppendUvarint(b, uint64(len(value)))
		b = append(b, value...)
	}
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-slotHeader))
	binary.LittleEndian.PutUint64(b[8:], gen)
	binary.LittleEndian.PutUint64(b[16:], s.base)
	binary.LittleEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	s.buf = b
	return b
}

// rewrite makes a file with slots of that size, and puts it in place of the present one. If that is
// not durable, a crash could bring the present one back: then nothing more is written until Open.
func (s *stable) rewrite(slot int64) error {
	b := make([]byte, 2*slot)
	copy(b[int64((s.gen+1)%2)*slot:], s.encode(s.gen+1))
	temp := s.name + ".tmp"
	if err := writeFile(temp, b); err != nil {
		logdisk.Remove(temp)
		return err
	}
	if s.f != nil {
		s.f.Close() // Windows does not rename over an open file
		s.f = nil
	}
	err := logdisk.Rename(temp, s.name)
	if err == nil {
		s.gen, s.slot = s.gen+1, slot
		if err = syncDir(filepath.Dir(s.name)); err != nil {
			s.closed = err
			return err
		}
	}
	if oerr := s.reopen(); oerr != nil {
		s.closed = fmt.Errorf("stable store is lost: %w", oerr)
		return s.closed
	}
	return err
}

func (s *stable) reopen() (err error) {
	s.f, err = logdisk.OpenFile(s.name, os.O_RDWR|dataSync, 0)
	return err
}

func (s *stable) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil {
		return s.closed
	}
	s.closed = os.ErrClosed
	return s.f.Close()
}
