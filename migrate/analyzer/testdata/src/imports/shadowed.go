package imports

import (
	"os"

	"progress"
)

func shadowed(name string) {
	mmapfile, _ := os.Open(name) // want `os.Open can be`
	mmapfile.WriteAt(nil, 0)
	progress.Copy(nil, mmapfile)
}
