//go:build nommap || !(linux || darwin || freebsd)

package sys

import (
	"errors"
	"os"
)

func ReadInOrder(*os.File, bool) error      { return errors.ErrUnsupported }
func Prefetch(*os.File, int64, int64) error { return errors.ErrUnsupported }
