//go:build unix && !linux

package mmapfile_test

import "testing"

func runAsNobody(t *testing.T, env string) {
	t.Skip("root is permitted everything, and the child that is not is made on Linux only")
}
