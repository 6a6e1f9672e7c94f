package imports

import (
	"io"
	"os"

	mapped "go.dw1.io/mmapfile"
)

func present(name string) {
	m, _ := mapped.Open(name)
	m.Close()
	f, _ := os.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
	g, _ := os.Open(name) // want `os.Open can be`
	io.NewSectionReader(g, 0, 1)
}
