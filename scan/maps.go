//go:build unix && !nommap

package scan

const (
	mapsForFree = true  // a mapping is in nobody's way
	viewCopies  = false // View has a mapping to show
)
