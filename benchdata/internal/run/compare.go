package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// tolerated is how much slower a row may be, since a machine that others use too has such days.
const tolerated = 1.15

// Compare fails if mmapfile is slower at one commit than at another. The benchmarks are those that
// stand here, for both of them, in one run.
func Compare(ctx context.Context, args []string) error {
	flags, opt := newFlags("compare", 6, "20ms", goTest)
	skip := flags.String("skip", "", "benchmarks to skip, as for go test")
	flags.Parse(args)
	if flags.NArg() < 1 || flags.NArg() > 2 {
		return errors.New("compare takes the commit to compare with, and the one to compare, which is what stands here if it is left out")
	}
	dir, err := scratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	programs := []program{{tree: "base"}, {tree: "head"}}
	for i := range programs {
		p := &programs[i]
		root, err := filepath.Abs("..")
		if err != nil {
			return err
		}
		if i < flags.NArg() && flags.Arg(i) != "" {
			var remove func()
			if root, remove, err = worktree(ctx, dir, flags.Arg(i), p.tree); err != nil {
				return err
			}
			defer remove()
		}
		p.bench, p.skip, p.args = opt.bench("."), *skip, []string{"-impl=^mmapfile$"}
		lab := filepath.Join(dir, p.tree+"-lab")
		mod, err := moduleWith(ctx, lab, root)
		if err != nil {
			return err
		}
		// The package may require something else there than it does here.
		if p.path, err = buildTest(ctx, lab, ".", labPackage, "-modfile="+mod, "-mod=mod"); err != nil {
			return err
		}
	}

	slower, err := opt.compareOnce(ctx, dir, programs)
	if err != nil || len(slower) == 0 {
		return err
	}
	// One row in some hundreds is such by accident. Hardly one is twice.
	fmt.Printf("\nMeasured again: %s\n", strings.Join(slower, ", "))
	for i := range programs {
		programs[i].bench = exactly(slower)
	}
	slower, err = opt.compareOnce(ctx, dir, programs)
	if err == nil && len(slower) > 0 {
		err = fmt.Errorf("slower by more than %.0f%%: %s", 100*(tolerated-1), strings.Join(slower, ", "))
	}
	return err
}

// worktree checks a commit out below dir, until remove is called.
func worktree(ctx context.Context, dir, commit, name string) (root string, remove func(), err error) {
	root = filepath.Join(dir, name)
	if err := tool(ctx, io.Discard, "git", "worktree", "add", "--quiet", "--detach", root, commit); err != nil {
		return "", nil, fmt.Errorf("git worktree of %s: %w", commit, err)
	}
	return root, func() {
		tool(context.WithoutCancel(ctx), io.Discard, "git", "worktree", "remove", "--force", root)
	}, nil
}

// moduleWith makes a go.mod of this module in the new directory dir, with the package that is in root.
func moduleWith(ctx context.Context, dir, root string) (string, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	mod := filepath.Join(dir, "lab.mod")
	for from, to := range map[string]string{"go.mod": mod, "go.sum": filepath.Join(dir, "lab.sum")} {
		text, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return "", err
		}
	}
	return mod, tool(ctx, os.Stderr, "go", "mod", "edit", "-replace=go.dw1.io/mmapfile="+root, mod)
}

// compareOnce runs the programs in turns, prints what they say, and returns the rows that are slower.
func (opt *options) compareOnce(ctx context.Context, dir string, programs []program) ([]string, error) {
	raw, err := opt.record(ctx, dir, nil, func(r *recording) error { return opt.runEach(ctx, dir, r, programs) })
	if err != nil {
		return nil, err
	}
	res, err := results.Parse(bytes.NewReader(raw), "raw results")
	if err != nil {
		return nil, err
	}
	return reportComparison(os.Stdout, res)
}

// reportComparison prints the rows and returns those that are slower at the head. The results are told apart by the
// key tree.
func reportComparison(out io.Writer, res *results.Set) (slower []string, err error) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n\tbase\thead\tdifference\t\t\n")
	for _, row := range res.Rows {
		base, head := res.Median(row, "base"), res.Median(row, "head")
		if base == 0 || head == 0 {
			continue
		}
		c := results.Compare(res.Times[row]["base"], res.Times[row]["head"])
		verdict := ""
		if results.Significant(c) && head > base*tolerated {
			verdict = "SLOWER"
			slower = append(slower, row)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", row, results.Duration(base), results.Duration(head), c.FormatDelta(base, head), c, verdict)
	}
	return slower, w.Flush()
}

// exactly is a pattern for go test that selects these rows.
func exactly(rows []string) string {
	var patterns []string
	for _, row := range rows {
		parts := strings.Split("Benchmark"+row, "/")
		for i, part := range parts {
			parts[i] = "^" + regexp.QuoteMeta(part) + "$"
		}
		patterns = append(patterns, strings.Join(parts, "/"))
	}
	return strings.Join(patterns, "|")
}
