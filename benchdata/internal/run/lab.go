package run

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

const labPackage = "./internal/lab"

// goTest is what rows are selected by that are benchmarks of Go.
const goTest = "the benchmarks, as for go test"

// bench is the pattern of the benchmarks that are asked for, or else of all.
func (opt *options) bench(all string) string { return cmp.Or(opt.row, all) }

// Lab runs the benchmarks of internal/lab.
func Lab(ctx context.Context, args []string) (*results.Set, error) {
	flags, opt := newFlags("bench", 6, "20ms", goTest)
	skip := flags.String("skip", "", "benchmarks to skip, as for go test")
	impl := flags.String("impl", "", "`regexp` of the implementations; all if empty")
	flags.Parse(args)
	dir, err := scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary, err := buildTest(ctx, dir, ".", labPackage, predecessorFlags(ctx, os.Stderr)...)
	if err != nil {
		return nil, err
	}
	return opt.runPrograms(ctx, dir, nil, []program{{path: binary, bench: opt.bench("."), skip: *skip, args: []string{"-impl=" + *impl}, turns: true}})
}

// predecessorFlags are those that build the lab with v0.1.2. If no registry has it, there are none, and w gets the reason.
func predecessorFlags(ctx context.Context, w io.Writer) []string {
	out, err := exec.CommandContext(ctx, "go", "mod", "download", "peer.example/mmapfile").CombinedOutput()
	if err != nil {
		reason, _, _ := strings.Cut(cmp.Or(strings.TrimSpace(string(out)), err.Error()), "\n")
		fmt.Fprintln(w, "leaving out v0.1.2, which cannot be had:", reason)
		return nil
	}
	return []string{"-tags=predecessor"}
}
