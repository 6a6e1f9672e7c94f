package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	boltdb "github.com/hashicorp/raft-boltdb/v2"
	wal "github.com/hashicorp/raft-wal"

	"go.dw1.io/mmapfile/raftlog"
)

// logStore is what all of them are.
type logStore interface {
	raft.LogStore
	raft.StableStore
	io.Closer
}

type kind struct {
	name string
	open func(dir string) (logStore, error)
}

// stores are all with their defaults: durable when StoreLogs returns.
var stores = []kind{
	{"raftlog", func(dir string) (logStore, error) { return raftlog.Open(dir, raftlog.Options{}) }},
	{"raft-wal", func(dir string) (logStore, error) {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
		return wal.Open(dir, wal.WithLogger(hclog.NewNullLogger()))
	}},
	{"raft-boltdb", func(dir string) (logStore, error) {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
		return boltdb.NewBoltStore(filepath.Join(dir, "raft.db"))
	}},
}
