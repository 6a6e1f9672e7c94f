//go:build !linux

package mmapfile

import (
	"errors"
	"io/fs"
	"os"
)

func (p *dirPath) openPlain(fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }
func (p *dirPath) lstatPlain() (fs.FileInfo, error)        { return nil, errors.ErrUnsupported }
