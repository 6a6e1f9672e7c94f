// Package grouped has imports in all orders.
package grouped

import (
	"io"
	"os"

	// This one has a comment.
	_ "go.dw1.io/other"
)

func before(name string) {
	f, _ := os.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
}

var _ io.Writer
