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

// Lab runs the benchmarks of internal/lab.
func Lab(ctx context.Context, args []string) (*results.Set, error) {
	flags, opt := newFlags("bench", 6, "20ms")
	bench := flags.String("bench", ".", "benchmarks to run, as for go test")
	skip := flags.String("skip", "", "benchmarks to skip, as for go test")
	impl := flags.String("impl", "", "`regexp` of the implementations; all if empty")
	policy := flags.String("policy", "", "`name` of the way to write that is tried, for results in policies/")
	why := flags.String("why", "", "`sentence` on why it is not the one that is used")
	huge := flags.Int("huge", 0, "size in `GiB` of the file of the states huge-*, which are left out without")
	flags.Parse(args)
	var config [][2]string
	if *huge > 0 {
		config = append(config, [2]string{results.HugeKey, fmt.Sprintf("%d GiB", *huge)})
	}
	if *policy != "" {
		config = append(config, [2]string{"policy", *policy}, [2]string{"why", *why})
	}
	dir, err := scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary, err := buildTest(ctx, dir, ".", labPackage, predecessorFlags(ctx, os.Stderr)...)
	if err != nil {
		return nil, err
	}
	return opt.runPrograms(ctx, dir, config, []program{{
		path: binary, bench: *bench, skip: *skip, args: []string{"-impl=" + *impl, fmt.Sprintf("-huge=%d", *huge)}}})
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
