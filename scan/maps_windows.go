//go:build windows && !nommap

package scan

const (
	mapsForFree = false // a mapped file cannot be truncated
	viewCopies  = false
)
