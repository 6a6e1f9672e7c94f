//go:build predecessor

package lab

import (
	"io"

	published "peer.example/mmapfile"
)

var predecessor = []impl{{"v0.1.2", (*published.MmapFile)(nil), func(path string, flag int, size int64) (io.Closer, error) {
	return published.OpenFile(path, flag, 0o644, size)
}}}
