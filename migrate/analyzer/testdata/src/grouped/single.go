package grouped

import "os"

import "go.dw1.io/mmapfile"

func single(name string) {
	f, _ := os.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
}

var _ mmapfile.File
