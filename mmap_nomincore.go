//go:build unix && !(linux || darwin || dragonfly || freebsd || netbsd) && !nommap

package mmapfile

import "errors"

func residentPages([]byte) (int64, error) { return 0, errors.ErrUnsupported }
