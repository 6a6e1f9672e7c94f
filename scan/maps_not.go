//go:build !unix || nommap

package scan

const mapsForFree = false
