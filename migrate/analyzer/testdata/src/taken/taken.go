package taken

import "os"

func taken(name string) {
	f, _ := os.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
}
