//go:build nommap || !(unix || windows)

package scan

const (
	mapsForFree = false
	viewCopies  = true
)
