//go:build linux && !nommap

package mmapfile_test

import (
	"fmt"
	"log"

	"go.dw1.io/mmapfile"
)

// What was just written is in the page cache.
func ExampleFile_Resident() {
	name, remove := exampleFile(string(make([]byte, 10_000)))
	defer remove()
	f, err := mmapfile.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	n, err := f.Resident(0, f.Len())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, "of", f.Len())
	// Output: 10000 of 10000
}
