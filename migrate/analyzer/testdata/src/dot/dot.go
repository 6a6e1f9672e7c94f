// Package dot imports package os with a dot.
package dot

import . "os"

func read(name string) {
	f, _ := Open(name) // want `os.Open stays: package os is imported with a dot`
	f.WriteAt(nil, 0)
}
