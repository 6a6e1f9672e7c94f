// Command programs runs Go programs that read files, each with os.File or mmapfile.File.
//
//	programs list                      print the programs: name, processes in a round, data, description
//	programs missing                   print why files cannot be dropped from the page cache, if so
//	programs prepare [flags]           generate the data of a program
//	programs fill [flags]              drop the data of a program, and read it into the page cache
//	programs run [flags]               run a program; print runs, ns per run, and what it found
//
// The command benchdata above calls it: make bench-programs.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "programs:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	if len(args) == 0 {
		return errors.New("usage: list | missing | prepare [flags] | fill [flags] | run [flags]")
	}
	flags := flag.NewFlagSet("programs", flag.ExitOnError)
	dir := flags.String("dir", filepath.Join(os.TempDir(), "mmapfile-programs"), "`directory` of the data")
	scale := flags.Float64("scale", 1, "size of the data, in terms of what is published")
	name := flags.String("program", "", "`name` of the program")
	implName := flags.String("impl", "os", "os or mmapfile")
	state := flags.String("state", stateNew, "one-process, new-process or cold")
	atLeast := flags.Duration("for", 300*time.Millisecond, "how long it runs in one process")
	flags.Parse(args[1:])
	switch args[0] {
	case "list":
		for _, p := range programs() {
			fmt.Printf("%s\t%d\t%s\t%s\n", p.name, max(p.processes, 1), p.data.name, p.what)
		}
		return nil
	case "missing":
		fmt.Println(missingDrop)
		return nil
	}
	p, err := programOf(*name)
	if err != nil {
		return err
	}
	impl, err := implementationOf(*implName)
	if err != nil {
		return err
	}
	data := dataDir(*dir, *scale)
	e := p.env(data, *scale, impl)
	switch args[0] {
	case "prepare":
		return p.data.prepare(data, *scale)
	case "fill":
		if missingDrop == "" {
			if err := eachFile(e.path, drop); err != nil {
				return err
			}
		}
		return eachFile(e.path, readPages)
	case "run":
		m, err := measure(p, e, *state, *atLeast)
		if err != nil {
			return err
		}
		fmt.Printf("%d\t%d\t%v\n", m.runs, m.each.Nanoseconds(), m.res)
		return nil
	}
	return fmt.Errorf("no command %q", args[0])
}
