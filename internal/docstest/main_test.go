package docstest

import (
	"fmt"
	"os"
	"testing"
)

// All names are from the root of the repository on.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
