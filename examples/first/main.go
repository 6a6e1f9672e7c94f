// Command first counts its runs in a file. It is the first program of the README.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"go.dw1.io/mmapfile"
)

func main() {
	f, err := mmapfile.OpenFile("runs.txt", os.O_RDWR|os.O_CREATE, 0o644) // was: os.OpenFile
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	var n int
	if _, err := fmt.Fscan(f, &n); err != nil && err != io.EOF {
		log.Fatal(err)
	}
	if _, err := f.WriteAt(fmt.Appendln(nil, n+1), 0); err != nil {
		log.Fatal(err)
	}
	fmt.Println("run", n+1)
}
