package main

import (
	"archive/tar"
	"io"
	"os"
)

// archive is a tar whose members can be read in any order.
type archive struct {
	file    *os.File // stays open
	members []member
}

// member is a file in the archive.
type member struct {
	name      string
	off, size int64 // position of the content
}

// openArchive lists the members of the tar.
func openArchive(name string) (*archive, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	a := &archive{file: f}
	for r := tar.NewReader(f); ; {
		header, err := r.Next()
		if err == io.EOF {
			return a, nil
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		off, err := f.Seek(0, io.SeekCurrent) // the reader is at the content now
		if err != nil {
			f.Close()
			return nil, err
		}
		a.members = append(a.members, member{header.Name, off, header.Size})
	}
}

// read reads the content of a member into buffer.
func (a *archive) read(m member, buffer []byte) ([]byte, error) {
	n, err := a.file.ReadAt(buffer[:m.size], m.off)
	return buffer[:n], err
}

func (a *archive) close() error { return a.file.Close() }
