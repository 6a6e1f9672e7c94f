// Package list writes a file once.
package list

import "os"

func Write(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	f.WriteString("list")
	return f.Close()
}
