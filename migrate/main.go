// Command migrate rewrites calls such as os.Open to those of package mmapfile if every use
// of the file allows it, and reports the others.
//
//	migrate ./...         reports
//	migrate -diff ./...   shows what -fix would change
//	migrate -fix ./...    rewrites
//
// The flag -all includes the files for which no gain is in sight. Set build tags in the
// environment: GOFLAGS=-tags=x. An installed migrate also works as a tool for go vet
// -vettool and go fix -fixtool.
//
// This module is v0: a minor version may change flags, what is rewritten, and the output.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"go.dw1.io/mmapfile/migrate/analyzer"
	"golang.org/x/tools/go/analysis/singlechecker"
)

func main() {
	// The driver shows a diff only along with -fix.
	if hasFlag(os.Args[1:], "diff") {
		os.Args = slices.Insert(os.Args, 1, "-fix")
	}
	// The driver defines both flags itself, -all as one without effect.
	analyzer.Settings = func() analyzer.Options {
		return analyzer.Options{All: isSet("all"), Tests: isSet("test")}
	}
	flag.CommandLine.SetOutput(usage{os.Stderr})
	if args := packageArgs(os.Args[1:]); len(args) > 0 && os.Getenv(summarized) == "" {
		checkSums(args)
		os.Exit(summarize(os.Args[1:]))
	}
	singlechecker.Main(analyzer.Analyzer)
}

// packageArgs returns the packages among the arguments, and none if go vet or go fix is the caller, or only a flag is
// asked for.
func packageArgs(args []string) []string {
	packages := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "-") })
	if len(packages) > 0 && strings.HasSuffix(packages[0], ".cfg") {
		return nil
	}
	return packages
}

// checkSums ends the program if go.sum lacks a line for the packages. The driver would report each import of theirs.
func checkSums(packages []string) {
	list := append([]string{"list", "-e", "-deps", "-test", "-f", "{{with .Error}}{{.}}{{end}}", "--"}, packages...)
	if out, _ := exec.Command("go", list...).Output(); bytes.Contains(out, []byte("missing go.sum entry")) {
		fmt.Fprintln(os.Stderr, "migrate: go.sum lacks lines for the imports: run go mod tidy")
		os.Exit(1)
	}
}

// usage corrects what the driver says of its flags.
type usage struct{ io.Writer }

func (u usage) Write(p []byte) (int, error) {
	s := string(p)
	if strings.HasPrefix(s, "  -all\n") {
		s = "  -all\n    \trewrite calls without a gain in sight as well\n"
	}
	if strings.HasPrefix(s, "  -diff\n") {
		s = "  -diff\n    \tshow what -fix would change, and change nothing\n"
	}
	_, err := io.WriteString(u.Writer, s)
	return len(p), err
}

func isSet(name string) bool {
	f := flag.Lookup(name)
	return f != nil && f.Value.String() == "true"
}
