//go:build !linux

package cold

import (
	"errors"
	"os"
)

func adviseFile(*os.File, int64, int64) error { return errors.ErrUnsupported }
