package grouped

import (
	"io"
	"os"

	_ "go.dw1.io/earlier" // the first
	// This one has a comment.
	_ "go.dw1.io/other"
)

func between(name string) {
	f, _ := os.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
}

var _ io.Reader
