package raftlog

import (
	"encoding/binary"
	"fmt"
)

// Set sets the value of a key, durably.
func (s *Store) Set(key, value []byte) error { return s.stable.set(key, value) }

// Get returns the value of a key, or nil if it has none.
func (s *Store) Get(key []byte) ([]byte, error) { return s.stable.get(key) }

// SetUint64 sets the value of a key, durably.
func (s *Store) SetUint64(key []byte, value uint64) error {
	return s.stable.set(key, binary.LittleEndian.AppendUint64(nil, value))
}

// GetUint64 returns the value of a key that SetUint64 has set, or 0 if it has none.
func (s *Store) GetUint64(key []byte) (uint64, error) {
	b, err := s.stable.get(key)
	switch {
	case err != nil || len(b) == 0:
		return 0, err
	case len(b) != 8:
		return 0, s.fail("read", fmt.Errorf("key %q: value of %d bytes is no number", key, len(b)))
	}
	return binary.LittleEndian.Uint64(b), nil
}
