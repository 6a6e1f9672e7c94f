package grouped

import (
	"os"

	"go.dw1.io/mmapfile"
)

var _ mmapfile.File

func hidden(name string) {
	mmapfile := 0
	_ = mmapfile
	f, _ := os.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
}
