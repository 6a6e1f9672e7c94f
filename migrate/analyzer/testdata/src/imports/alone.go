package imports

import (
	"os"

	"go.dw1.io/mmapfile"
	"progress"
)

func alone(name string) {
	m, _ := mmapfile.Open(name)
	progress.Copy(m, nil)
	f, _ := os.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
}
