// Package shared finds a container in an interface, which other copies of it share.
package shared

import (
	"io"
	"os"
)

func ofSwitch(name string) bool {
	f, _ := os.Open(name) // want `f goes to .*, and shared .* asserts \*os.File`
	f.WriteAt(nil, 0)
	m := map[string]io.Reader{}
	var a any = m
	b := a
	switch c := b.(type) {
	case map[string]io.Reader:
		c["f"] = f
	}
	_, ok := m["f"].(*os.File)
	return ok
}
