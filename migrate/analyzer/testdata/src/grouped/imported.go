package grouped

import (
	"io"
	"os"

	"go.dw1.io/mmapfile"
)

func imported(name string) {
	f, _ := os.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
}

var _ io.ReaderAt

var _ mmapfile.File
