//go:build unix && !nommap

package scan

const (
	mapsForFree = true  // a mapping restricts no other program
	viewCopies  = false // View shows a mapping
)
