package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// options say how to measure.
type options struct {
	out       string
	rounds    int
	benchtime string
}

// newFlags are those of a command that measures.
func (opt *options) newFlags(command, out string) *flag.FlagSet {
	flags := flag.NewFlagSet(command, flag.ExitOnError)
	flags.StringVar(&opt.out, "out", out, "`file` for the raw results")
	flags.IntVar(&opt.rounds, "rounds", 6, "number of rounds")
	flags.StringVar(&opt.benchtime, "benchtime", "20ms", "time for each benchmark in each round")
	return flags
}

// program is one that runs benchmarks as a test binary of Go does.
type program struct {
	path        string
	bench, skip string   // which of them, as for go test
	args        []string // further arguments
	tree        string   // a key for its results, where there are several trees of the source
}

// measure runs the benchmarks of internal/lab.
func measure(ctx context.Context, args []string) error {
	var opt options
	flags := opt.newFlags("run", "bench.txt")
	bench := flags.String("bench", ".", "benchmarks to run, as for go test")
	skip := flags.String("skip", "", "benchmarks to skip, as for go test")
	impl := flags.String("impl", "", "`regexp` of the implementations; all if empty")
	policy := flags.String("policy", "", "`name` of the way to write that is tried, for results in policies/")
	why := flags.String("why", "", "`sentence` on why it is not the one that is used")
	huge := flags.Int("huge", 0, "size in `GiB` of the file of the states huge-*, which are left out without")
	flags.Parse(args)
	var head [][2]string
	if *huge > 0 {
		head = append(head, [2]string{hugeKey, fmt.Sprintf("%d GiB", *huge)})
	}
	if *policy != "" {
		head = append(head, [2]string{"policy", *policy}, [2]string{"why", *why})
	}

	dir, err := scratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "lab.exe")
	if err := buildLab(ctx, binary); err != nil {
		return err
	}
	res, err := keep(ctx, dir, opt, head, program{
		path: binary, bench: *bench, skip: *skip, args: []string{"-impl=" + *impl, fmt.Sprintf("-huge=%d", *huge)}})
	if err != nil {
		return err
	}
	if err := summarize(os.Stdout, res); err != nil {
		return err
	}
	fmt.Printf("\nRaw results: benchdata/%s; make -C benchdata tables RESULTS=%[1]s prints all that they say.\n", opt.out)
	return nil
}

// buildLab builds the benchmarks of internal/lab, with further flags of go test.
func buildLab(ctx context.Context, binary string, flags ...string) error {
	args := append([]string{"test", "-c", "-o", binary}, flags...)
	return build(ctx, append(args, "./internal/lab")...)
}

// scratch makes a directory, which the benchmarks put their files below too: it goes whatever
// happens to them.
func scratch() (string, error) {
	dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "mmapfile-bench-")
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir) // the benchmarks have a working directory of their own
}

// buildTest builds the test binary of a package of the module above.
func buildTest(ctx context.Context, dir, pkg string) (string, error) {
	path := filepath.Join(dir, "bench.exe")
	return path, build(ctx, "-C", "..", "test", "-c", "-o", path, pkg)
}

// keep runs the programs and puts what they print into opt.out. A run that is broken off leaves
// the results of the one before as they were.
func keep(ctx context.Context, dir string, opt options, versions [][2]string, programs ...program) (*results, error) {
	if err := os.MkdirAll(filepath.Dir(opt.out), 0o755); err != nil { // now, and not after the wait
		return nil, err
	}
	raw := filepath.Join(dir, "raw.txt")
	if err := measureTo(ctx, raw, dir, opt, versions, programs); err != nil {
		return nil, err
	}
	return store(raw, opt.out)
}

// store copies complete results to where they are kept.
func store(raw, out string) (*results, error) {
	res, err := readResults(raw)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(raw)
	if err != nil {
		return nil, err
	}
	return res, os.WriteFile(out, text, 0o644)
}

// measureTo runs the programs round by round, so that the implementations take turns and a slow
// minute of the machine hits all of them.
func measureTo(ctx context.Context, raw, dir string, opt options, versions [][2]string, programs []program) error {
	out, err := os.Create(raw)
	if err != nil {
		return err
	}
	defer out.Close()
	writeMachine(out, dir, append(versions, [2]string{"benchtime", opt.benchtime})...)

	p := newProgress(os.Stderr, opt.rounds)
	defer p.end()
	for round := 1; round <= opt.rounds; round++ {
		p.round = round
		fmt.Fprintf(out, "# round %d, load %s\n", round, firstLine("/proc/loadavg"))
		for i := range programs {
			prog := programs[(i+round)%len(programs)] // each is the first one in its turn
			if prog.tree != "" {
				fmt.Fprintf(out, "tree: %s\n", prog.tree)
			}
			if err := prog.measure(ctx, out, p, dir, opt.benchtime); err != nil {
				return err
			}
		}
	}
	return out.Close()
}

// measure runs the program once.
func (prog program) measure(ctx context.Context, raw io.Writer, p *progress, dir, benchtime string) error {
	args := []string{"-test.run=^$", "-test.bench=" + prog.bench, "-test.skip=" + prog.skip, "-test.benchtime=" + benchtime}
	cmd := exec.CommandContext(ctx, prog.path, append(args, prog.args...)...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "BENCH_DIR="+dir)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.seen = false
	other, copyErr := copyResults(raw, stdout, p)
	err = errors.Join(copyErr, cmd.Wait())
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case err != nil:
		return fmt.Errorf("%w\n%s", err, other)
	case !p.seen:
		return fmt.Errorf("no benchmark matches %s", prog.bench)
	}
	return nil
}

// copyResults copies the results from a benchmark's output to raw, with the configuration lines
// in the first round. It returns the other lines, which say what went wrong.
func copyResults(raw io.Writer, stdout io.Reader, p *progress) (other string, err error) {
	r := bufio.NewReader(stdout)
	var rest strings.Builder
	for {
		// The name comes before the benchmark runs, the figures when it is done.
		name, err := r.ReadString('\t')
		for {
			line, more, ok := strings.Cut(name, "\n")
			if !ok {
				break
			}
			switch {
			case isConfig(line):
				if p.round == 1 {
					fmt.Fprintln(raw, line)
				}
			default:
				fmt.Fprintln(&rest, line)
			}
			name = more
		}
		if err == io.EOF {
			rest.WriteString(name)
			return rest.String(), nil
		}
		if err != nil {
			return rest.String(), err
		}
		p.show(strings.TrimSpace(name))
		figures, err := r.ReadString('\n')
		if err != nil {
			rest.WriteString(name + figures)
			return rest.String(), ignoreEOF(err)
		}
		if !strings.HasPrefix(name, "Benchmark") || !strings.Contains(figures, "/op") {
			rest.WriteString(name + figures)
			continue
		}
		if _, err := io.WriteString(raw, name+figures); err != nil {
			return rest.String(), err
		}
	}
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

func isConfig(line string) bool {
	key, _, ok := strings.Cut(line, ": ")
	return ok && slices.Contains([]string{"goos", "goarch", "pkg", "cpu", "piece", "warm"}, key)
}
