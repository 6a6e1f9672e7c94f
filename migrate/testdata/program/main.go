// Command program uses files in all ways that are rewritten, and prints what it
// finds: the same before and after.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// store is a file of fixed records.
type store struct {
	data, log *os.File // both stay open
	records   int
}

const recordSize = 16

func openStore(dir string) (s *store, err error) {
	s = &store{}
	if s.data, err = os.OpenFile(filepath.Join(dir, "data"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	s.log, err = create(filepath.Join(dir, "log"))
	return s, err
}

func create(name string) (*os.File, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("create: %w", err)
	}
	return f, nil
}

func (s *store) put(i int, text string) error {
	record := make([]byte, recordSize)
	copy(record, text)
	if _, err := s.data.WriteAt(record, int64(i)*recordSize); err != nil {
		return err
	}
	s.records = max(s.records, i+1)
	_, err := fmt.Fprintf(s.log, "put %d %s\n", i, text)
	return err
}

func (s *store) get(i int) (string, error) {
	record := make([]byte, recordSize)
	_, err := s.data.ReadAt(record, int64(i)*recordSize)
	return strings.TrimRight(string(record), "\x00"), err
}

func (s *store) close() error { return errors.Join(s.data.Close(), s.log.Close()) }

// rewind reads the log from its start.
func rewind(f *os.File) io.Reader {
	f.Seek(0, io.SeekStart)
	return f
}

func run(dir string) error {
	s, err := openStore(dir)
	if err != nil {
		return err
	}
	for i := range 1000 {
		if err := s.put(i*7%1000, fmt.Sprint("record ", i)); err != nil {
			return err
		}
	}
	sum := 0
	for range 20 {
		for i := range s.records {
			text, err := s.get(i)
			if err != nil {
				return err
			}
			sum += len(text) * (i + 1)
		}
	}
	_, err = s.get(s.records)
	fmt.Println(sum, err)
	lines := 0
	for sc := bufio.NewScanner(rewind(s.log)); sc.Scan(); lines++ {
	}
	info, err := s.log.Stat()
	fmt.Println(lines, info.Size(), err)
	if err := s.close(); err != nil {
		return err
	}
	_, err = s.data.ReadAt(make([]byte, 1), 0)
	fmt.Println(errors.Is(err, fs.ErrClosed), s.close() != nil)
	return errors.Join(more(dir), child(filepath.Join(dir, "log")))
}

// more has a file that is rewritten along with its errors.
func more(dir string) error {
	f, err := os.OpenInRoot(dir, "../outside")
	fmt.Println(f == nil, err)
	f, err = os.OpenInRoot(dir, "data")
	if err != nil {
		return err
	}
	defer f.Close()
	part := io.NewSectionReader(f, recordSize, 8)
	b, err := io.ReadAll(part)
	_, werr := f.Write(b)
	fmt.Printf("%q %v %v\n", b, err, errors.Is(werr, fs.ErrPermission))
	temp, err := os.CreateTemp(dir, "temp")
	if err != nil {
		return err
	}
	n, err := io.Copy(temp, f)
	temp.Truncate(5)
	end, serr := temp.Seek(-2, io.SeekEnd)
	fmt.Println(n, err, end, serr)
	closeTemp := temp.Close
	return closeTemp()
}

// child has a file that stays: a process inherits it.
func child(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(-10, io.SeekEnd); err != nil {
		return err
	}
	cmd := exec.Command("cat")
	cmd.Stdin = f
	out, err := cmd.Output()
	fmt.Printf("%q\n", out)
	return err
}

// done is called at the end. A test sets it.
var done = func() {}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	done()
}
