package mmapfile_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
)

// ftChildCat copies n bytes of its standard input to its standard output, all for a negative n,
// in calls that take no byte more.
func ftChildCat(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	var in io.Reader = os.Stdin
	if n >= 0 {
		in = io.LimitReader(os.Stdin, int64(n))
	}
	b, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(b)
	return err
}

// ftChildTruncate truncates files as it is told, line by line, and confirms each.
func ftChildTruncate([]string) error {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var size int64
		var name string
		if _, err := fmt.Sscanf(in.Text(), "%d %q", &size, &name); err != nil {
			return err
		}
		if err := os.Truncate(name, size); err != nil {
			return err
		}
		fmt.Println("done")
	}
	return nil
}

// ftChildChurn cuts a file of the pattern anywhere, extends it, and writes it anew, n times.
func ftChildChurn(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	f, err := os.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	return ftChurn(f, fi.Size(), n)
}

// ftChurn does what ftChildChurn does, through an open file.
func ftChurn(f ftFile, size int64, n int) error {
	whole := ftPattern(int(size))
	for i := range n {
		cut := rand.Int64N(size)
		if i%5 == 0 {
			cut = 0
		}
		if err := f.Truncate(cut); err != nil {
			return err
		}
		if i%2 == 0 {
			if err := f.Truncate(size); err != nil {
				return err
			}
		}
		if i%3 == 0 {
			if _, err := f.WriteAt(whole[cut:], cut); err != nil {
				return err
			}
		}
	}
	return f.Truncate(size)
}
