//go:build windows && !nommap

package scan

const (
	mapsForFree = false // nobody else can cut a file that is mapped
	viewCopies  = false
)
