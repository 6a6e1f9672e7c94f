// Command survey runs migrate over well-known modules and prints how many calls
// it finds, would rewrite and refuses. With -check it also rewrites a copy of each
// module and builds and vets that.
//
//	go run ./survey MODULE@VERSION...
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"text/tabwriter"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("survey: ")
	root := flag.String("root", "..", "the module mmapfile")
	check := flag.Bool("check", false, "rewrite, build and vet the copies")
	list := flag.Bool("list", false, "print each call")
	keep := flag.String("keep", "", "keep the copies in this directory")
	flag.Parse()
	s := survey{check: *check, list: *list}
	var err error
	if s.root, err = filepath.Abs(*root); err != nil {
		log.Fatal(err)
	}
	if s.dir = *keep; s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "survey"); err != nil {
			log.Fatal(err)
		}
		defer os.RemoveAll(s.dir)
	}
	if err := s.run(flag.Args()); err != nil {
		log.Print(err)
	}
}

// run surveys the modules and prints the table.
func (s *survey) run(paths []string) error {
	if err := s.buildTool(); err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	header := "module\tsites\tlikely\tno gain\trefused\t"
	if s.check {
		header += "after -fix -all\t"
	}
	fmt.Fprintln(w, header)
	var total counts
	for i, path := range paths {
		fmt.Fprintf(os.Stderr, "%d of %d: %s\n", i+1, len(paths), path)
		m, err := s.download(path)
		if err != nil {
			return err
		}
		n, err := s.report(m)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		total.add(n)
		row := fmt.Sprintf("%s %s\t%v", m.Path, m.Version, n)
		if s.check {
			result, err := s.rewrite(m)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			row += result + "\t"
		}
		fmt.Fprintln(w, row)
	}
	fmt.Fprintf(w, "%d modules\t%v\n", len(paths), total)
	return w.Flush()
}
