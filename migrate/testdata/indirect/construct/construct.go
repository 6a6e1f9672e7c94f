// Package construct hides the type of package sink.
package construct

import (
	"test.example/putter"
	"test.example/sink"
)

// New returns a Sink as an interface.
func New() putter.Putter { return &sink.Sink{} }
