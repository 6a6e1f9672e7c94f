package imports

import "os"

func kept(name string) {
	f, _ := os.OpenFile(name, os.O_RDWR, 0) // want `os.OpenFile can be`
	f.WriteAt(nil, 0)
}
