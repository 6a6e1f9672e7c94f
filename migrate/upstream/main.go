// Command upstream runs the suites of well-known modules over package mmapfile. For each
// module it copies the pinned version, and runs its tests
//
//   - as they are, on *os.File;
//   - after migrate -fix -all;
//   - with a list of edits as well, for the files that migrate refuses;
//   - so changed, with a policy that maps each file as soon as it can.
//
// A test counts only if it ends in another way than on *os.File. A suite that maps no file
// proves nothing, and fails. The modules' own benchmarks run on both sides, alternately.
//
//	go run ./upstream              all modules; writes upstream/results.json
//	go run ./upstream -only wal    those whose path has a match
//	go run ./upstream -page        puts the results into docs/proven.md
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// upstream is one run.
type upstream struct {
	root    string // the directory of the module mmapfile
	dir     string // the directory of the copies
	tool    string // migrate
	counted string // the overlay that counts mappings
	line    string // what and where it was
	timeout time.Duration
	limit   time.Duration
	rounds  int
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("upstream: ")
	var u upstream
	root := flag.String("root", "..", "the module mmapfile")
	only := flag.String("only", "", "run the modules whose path has a match of this regular expression")
	keep := flag.String("keep", "", "keep the copies in this directory")
	benchmarks := flag.Bool("benchmarks", false, "run the benchmarks alone, and keep the recorded results of the suites")
	page := flag.Bool("page", false, "run nothing, and put the results into docs/proven.md")
	flag.DurationVar(&u.timeout, "timeout", 5*time.Minute, "end a package's tests after this time")
	flag.DurationVar(&u.limit, "limit", 15*time.Minute, "end a suite, or a module's benchmarks, after this time, with what it compiles")
	flag.IntVar(&u.rounds, "rounds", 8, "run each benchmark so often on both sides; 0 for none")
	flag.Parse()
	var err error
	if u.root, err = filepath.Abs(*root); err != nil {
		log.Fatal(err)
	}
	if *page {
		if err := writePage(u.root); err != nil {
			log.Fatal(err)
		}
		return
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		log.Fatal(err)
	}
	if u.dir = *keep; u.dir == "" {
		if u.dir, err = os.MkdirTemp("", "upstream"); err != nil {
			log.Fatal(err)
		}
	}
	u.dir, err = filepath.Abs(u.dir)
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err = u.run(ctx, match, *benchmarks)
		stop()
	}
	if *keep == "" {
		removeAll(u.dir)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run runs the projects that match, or only their benchmarks, records each, and prints the table.
func (u *upstream) run(ctx context.Context, match *regexp.Regexp, benchmarksOnly bool) error {
	if err := u.prepare(ctx); err != nil {
		return err
	}
	file := filepath.Join(u.root, resultsFile)
	all, err := readResults(file)
	if err != nil {
		return err
	}
	var failed []string
	var done []*record
	for _, p := range projects {
		if !match.MatchString(p.path) {
			continue
		}
		var old *record
		if benchmarksOnly {
			i := slices.IndexFunc(all, func(r *record) bool { return r.Path == p.path && r.Version == p.version })
			if i < 0 || p.bench == "" {
				continue
			}
			old = all[i]
		}
		r, err := u.project(ctx, p, old)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			err = r.verdict()
		}
		if err != nil {
			log.Printf("%s: %v", p.path, err)
			failed = append(failed, p.path)
		}
		if r == nil {
			continue
		}
		done = append(done, r)
		all = append(slices.DeleteFunc(all, func(old *record) bool { return old.Path == r.Path }), r)
		if err := writeResults(file, all); err != nil {
			return err
		}
	}
	fmt.Println()
	for _, line := range table(done) {
		fmt.Println(line)
	}
	if failed != nil {
		return fmt.Errorf("failed: %v", failed)
	}
	return nil
}
