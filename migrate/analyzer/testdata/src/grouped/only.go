package grouped

import "os"
import (
	"io"

	_ "go.dw1.io/mmapfile"
)

func only(name string) {
	f, _ := os.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
}

var _ io.Closer
