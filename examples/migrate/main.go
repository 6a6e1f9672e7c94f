// Command migrate reads the members of a tar in random order. A
// SQLite database lists their checksums. It is written with package os. README.md
// has the steps that make it use package mmapfile.
//
//	go run . make DIR    writes DIR/archive.tar and DIR/catalogue.sqlite
//	go run . DIR         reads both, and prints how long that took
package main

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

const reads = 1_000_000

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "make":
		err = makeData(args[1])
	case len(args) == 1:
		err = run(args[0])
	default:
		fmt.Fprintln(os.Stderr, "usage: migrate [make] DIR")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "migrate:", err)
		os.Exit(1)
	}
}

// run checks the archive against the catalogue.
func run(dir string) (err error) {
	began := time.Now()
	c, err := openCatalogue(filepath.Join(dir, "catalogue.sqlite"))
	if err != nil {
		return err
	}
	sums, err := c.sums()
	if err := errors.Join(err, c.close()); err != nil {
		return err
	}
	fmt.Printf("catalogue: %d members (%v)\n", len(sums), time.Since(began).Round(time.Millisecond))

	began = time.Now()
	a, err := openArchive(filepath.Join(dir, "archive.tar"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	fmt.Printf("archive: %d members (%v)\n", len(a.members), time.Since(began).Round(time.Millisecond))

	began = time.Now()
	r := rand.New(rand.NewPCG(1, 2))
	buffer := make([]byte, memberSize)
	for range reads {
		m := a.members[r.IntN(len(a.members))]
		body, err := a.read(m, buffer)
		if err != nil {
			return err
		}
		if crc32.ChecksumIEEE(body) != sums[m.name] {
			return fmt.Errorf("%s is not what the catalogue says", m.name)
		}
	}
	took := time.Since(began)
	fmt.Printf("reads: %d, all as in the catalogue (%v, %v each)\n", reads, took.Round(time.Millisecond), took/reads)
	return nil
}
