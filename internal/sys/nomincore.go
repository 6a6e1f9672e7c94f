//go:build (openbsd || solaris || aix) && !nommap

package sys

import "errors"

func ResidentPages([]byte) (int64, error) { return 0, errors.ErrUnsupported }
