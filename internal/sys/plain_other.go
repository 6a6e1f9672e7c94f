//go:build !linux

package sys

import (
	"errors"
	"io/fs"
	"os"
)

func (p *PlainPath) OpenPlain(fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }
func (p *PlainPath) LstatPlain() (fs.FileInfo, error)        { return nil, errors.ErrUnsupported }
