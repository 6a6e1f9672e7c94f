package live_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/live"
)

// list is a sorted list of words in the memory of a file, a word on each line.
type list []byte

func load(f *mmapfile.File) (list, error) { return f.Bytes(), nil }

// has reports whether word is in the list, by binary search.
func (l list) has(word []byte) bool {
	for len(l) > 0 {
		start := bytes.LastIndexByte(l[:len(l)/2], '\n') + 1
		line, after, _ := bytes.Cut(l[start:], []byte("\n"))
		switch bytes.Compare(line, word) {
		case 0:
			return true
		case 1:
			l = l[:start]
		default:
			l = after
		}
	}
	return false
}

// A word list that is replaced while the program uses it.
func Example() {
	dir, err := os.MkdirTemp("", "words")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "words")
	deploy(name, "bee\nfly\nwasp\n")

	words, err := live.Options[list]{
		OnError: func(err error) { log.Print(err) },
		Copy:    true, // for Windows; elsewhere a rename, as in deploy, is enough
	}.Open(name, load)
	if err != nil {
		log.Fatal(err)
	}
	defer words.Close()

	has := func(word string) (found bool) {
		err := words.Use(func(l list) error {
			found = l.has([]byte(word))
			return nil
		})
		if err != nil {
			log.Print(err) // for example, the file was truncated in place
		}
		return found
	}
	fmt.Println(has("ant"), has("bee"))

	deploy(name, "ant\nfly\nwasp\n")
	words.Refresh() // or wait for two seconds
	fmt.Println(has("ant"), has("bee"))
	// Output:
	// false true
	// true false
}

// deploy replaces the named file, as a deployment of new data does.
func deploy(name, content string) {
	if err := os.WriteFile(name+".tmp", []byte(content), 0o600); err != nil {
		log.Fatal(err)
	}
	if err := os.Rename(name+".tmp", name); err != nil {
		log.Fatal(err)
	}
}
