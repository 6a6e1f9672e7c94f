//go:build !linux

package sys

import (
	"errors"
	"os"
)

func OpenBeneath(*os.File, string) (*os.File, bool, error) { return nil, false, errors.ErrUnsupported }
