// Package gainall is rewritten with the option All.
package gainall

import (
	"io"
	"os"
)

func copyFile(dst, src string) error {
	in, err := os.Open(src) // want `without a gain in sight: read once`
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE, 0o644) // want `without a gain in sight: open for writing only`
	if err != nil {
		return err
	}
	defer out.Close()
	_, err = io.Copy(out, in)
	return err
}
