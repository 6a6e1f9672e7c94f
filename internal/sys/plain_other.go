//go:build !linux

package sys

import (
	"errors"
	"io/fs"
	"os"
)

func (p *PlainPath) OpenPlain(bool) (*os.File, bool, error) {
	return nil, false, errors.ErrUnsupported
}
func (p *PlainPath) LstatPlain() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }
