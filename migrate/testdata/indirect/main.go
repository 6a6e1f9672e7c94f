// Command indirect calls a method of package sink, which it does not import.
package main

import (
	"fmt"
	"os"

	"test.example/construct"
)

func main() {
	f, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	defer f.Close()
	f.ReadAt(make([]byte, 1), 0)
	fmt.Println(construct.New().Put(f))
}
