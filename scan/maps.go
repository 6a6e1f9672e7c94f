//go:build unix && !nommap

package scan

// mapsForFree says that a mapping is in nobody's way, and that View copies nothing.
const mapsForFree = true
