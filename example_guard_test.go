package mmapfile_test

import (
	"fmt"
	"log"
	"strings"

	"go.dw1.io/mmapfile"
)

// names is a reader of records of eight bytes. Like many databases, it keeps the memory that it is given.
type names []byte

func (n names) at(i int) string { return strings.TrimRight(string(n[8*i:][:8]), " ") }

// Guard covers a reader that keeps the memory of a file. If the file is truncated, Guard returns an error.
func ExampleFile_Guard() {
	name, remove := exampleFile("north   east    south   west    ")
	defer remove()
	f, err := mmapfile.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	db := names(f.Bytes())

	var found string
	err = f.Guard(func() error {
		found = db.at(2)
		return nil
	})
	if err != nil {
		log.Fatal(err) // for example, the file was truncated or closed meanwhile
	}
	fmt.Println(found)
	// Output: south
}
