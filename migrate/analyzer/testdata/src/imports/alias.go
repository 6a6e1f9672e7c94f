package imports

import (
	// stdos has a name of its own.
	stdos "os" // for the files

	"progress"
)

type system struct{}

func (system) Open(name string) (*system, error) { return nil, nil }

func alias(name string) {
	var os system
	os.Open(name)
	f, _ := stdos.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
	progress.Copy(nil, f)
}
