// Package log reads a file at random, which it also locks.
package log

import (
	"os"

	"other.example/log/internal/list"
)

type Log struct{ f, index *os.File }

func Open(name string) (l Log) {
	l.f, _ = os.Open(name)
	l.index, _ = os.Open(name)
	l.f.Fd()
	list.Write(name)
	return l
}

func (l *Log) Read(p []byte, off int64) {
	l.f.ReadAt(p, off)
	l.index.ReadAt(p, off)
}
