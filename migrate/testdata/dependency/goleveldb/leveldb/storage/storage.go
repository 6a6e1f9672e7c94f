// Package storage locks a file.
package storage

import "os"

func Open(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	f.Fd()
	return f.Close()
}
