//go:build !unix

package needle

import "errors"

const (
	missingMmap = "it needs mmap"
	advise      = 0
)

func withMapping(string, int, func([]byte) (int64, error)) (int64, error) {
	return -1, errors.ErrUnsupported
}
