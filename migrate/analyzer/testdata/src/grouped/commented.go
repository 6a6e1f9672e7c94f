package grouped

import (
	"io"
	"os" // for the file
)

func commented(name string) {
	f, _ := os.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
}

var _ io.Seeker
