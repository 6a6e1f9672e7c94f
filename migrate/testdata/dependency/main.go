// Command dependency leaves the files to other modules.
package main

import (
	"fmt"

	"github.com/syndtr/goleveldb/leveldb"
	"other.example/append"
	"other.example/log"
)

func main() {
	fmt.Println(leveldb.Open("db"), log.Open("log"), add.Open("add"))
}
