//go:build !linux

package run

import (
	"context"
	"fmt"
	"os"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// Cold measures on Linux alone, whose page cache can be told to drop a file.
func Cold(context.Context, []string) (*results.Set, error) {
	fmt.Fprintln(os.Stderr, "nothing was measured: it needs Linux, whose page cache can be told to drop a file")
	return nil, nil
}
