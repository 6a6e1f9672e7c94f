//go:build !linux

package needle

const (
	populate        = 0
	missingPopulate = "it needs Linux"
)
