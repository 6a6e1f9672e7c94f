package main

import (
	"log"
	"os"
)

func Example() {
	was, err := os.Getwd()
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "first")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chdir(dir); err != nil {
		log.Fatal(err)
	}
	defer os.Chdir(was)
	main()
	main()
	// Output:
	// run 1
	// run 2
}
