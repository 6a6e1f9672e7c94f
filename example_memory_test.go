package mmapfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.dw1.io/mmapfile"
)

// exampleFile makes a file for an example, which opens it by that name.
func exampleFile(content string) (name string, remove func()) {
	dir, err := os.MkdirTemp("", "mmapfile")
	if err != nil {
		log.Fatal(err)
	}
	name = filepath.Join(dir, "data")
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		log.Fatal(err)
	}
	return name, func() { os.RemoveAll(dir) }
}

// Create, write and read, as with os.
func ExampleCreate() {
	dir, err := os.MkdirTemp("", "mmapfile")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	f, err := mmapfile.Create(filepath.Join(dir, "greeting"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintf(f, "hello, %s", "world")
	fmt.Println(f.Len())
	// Output: 12
}

// A name that leads out of the directory is refused.
func ExampleOpenInRoot() {
	name, remove := exampleFile("hello")
	defer remove()

	f, err := mmapfile.OpenInRoot(filepath.Dir(name), "data")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	_, err = mmapfile.OpenInRoot(filepath.Dir(name), "../data")
	fmt.Println(f.Len(), err != nil)
	// Output: 5 true
}

// An os.Root may stay open, and its files may be written.
func ExampleOpenRoot() {
	name, remove := exampleFile("hello")
	defer remove()
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		log.Fatal(err)
	}
	defer root.Close()

	f, err := mmapfile.OpenRoot(root, "data", os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(", world"); err != nil {
		log.Fatal(err)
	}
	_, err = mmapfile.OpenRoot(root, "../data", os.O_RDONLY, 0)
	fmt.Println(f.Len(), err != nil)
	// Output: 12 true
}

// A program that keeps os.OpenFile as a function value gets the method value.
func ExampleOptions_OpenFile_functionValue() {
	name, remove := exampleFile("hello")
	defer remove()

	type database struct {
		open func(name string, flag int, perm os.FileMode) (*mmapfile.File, error) // was: (*os.File, error)
	}
	db := database{open: mmapfile.Options{}.OpenFile} // was: os.OpenFile

	f, err := db.open(name, os.O_RDWR, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Println(f.Len())
	// Output: 5
}

// An index that is written once and renamed into place does not change. So it may be mapped also
// in the image of a container, on a network file system, and on Windows.
func ExampleOptions_immutable() {
	name, remove := exampleFile("north east south west")
	defer remove()

	f, err := mmapfile.Options{Immutable: true}.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	word := make([]byte, 5)
	if _, err := f.ReadAt(word, 11); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", word)

	_, err = mmapfile.Options{Immutable: true}.OpenFile(name, os.O_RDWR, 0)
	fmt.Println(errors.Is(err, fs.ErrInvalid))
	// Output:
	// south
	// true
}

// NewFile is nil for what is no descriptor, as os.NewFile is.
func ExampleNewFile() {
	f := mmapfile.NewFile(^uintptr(0), "nothing")
	fmt.Println(f == nil)
	// Output: true
}

// Windows of a file, one after the other, in place.
func ExampleFile_Chunks() {
	name, remove := exampleFile("north east south west")
	defer remove()
	f, err := mmapfile.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	for c, err := range f.Chunks(6) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%2d %q\n", c.Offset, c.Data)
	}
	// Output:
	//  0 "north "
	//  6 "east s"
	// 12 "outh w"
	// 18 "est"
}

// Places that are known before are read ahead of their use, all at once.
func ExampleFile_Advise_willNeed() {
	name, remove := exampleFile(strings.Repeat("some records of a large file\n", 1000))
	defer remove()
	f, err := mmapfile.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	places := []int64{20_015, 5, 9_981}
	for _, off := range places {
		err := f.Advise(off, 7, mmapfile.WillNeed)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			log.Fatal(err)
		}
	}
	b := make([]byte, 7)
	for _, off := range places { // none waits for the one before
		if _, err := f.ReadAt(b, off); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", b)
	}
	// Output:
	// records
	// records
	// records
}

// What is said in advance is a hint; a platform that has no use for it says so.
func ExampleFile_Advise() {
	name, remove := exampleFile("a long file")
	defer remove()
	f, err := mmapfile.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	err = f.Advise(0, int64(f.Len()), mmapfile.Sequential)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", f.Bytes())
	// Output: a long file
}

// An index that is never to wait for the disk. The limits of the system apply.
func ExampleFile_LockMemory() {
	name, remove := exampleFile("index")
	defer remove()
	f, err := mmapfile.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	switch err := f.LockMemory(0, int64(f.Len())); {
	case err == nil:
		defer f.UnlockMemory(0, int64(f.Len()))
	case !errors.Is(err, errors.ErrUnsupported):
		log.Print(err) // over RLIMIT_MEMLOCK, perhaps: it is slower, and as good
	}
	fmt.Printf("%s\n", f.Bytes())
	// Output: index
}

// Only the record that was written has to be on the disk.
func ExampleFile_SyncRange() {
	name, remove := exampleFile("balance: 0100")
	defer remove()
	f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	if _, err := f.WriteAt([]byte("0250"), 9); err != nil {
		log.Fatal(err)
	}
	if err := f.SyncRange(9, 4); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", f.Bytes()) // also after a crash from here on
	// Output: balance: 0250
}

// A journal of which a crash of the machine loses less than 64 KiB, and nothing older than a second.
func ExampleFlushPolicy() {
	name, remove := exampleFile("")
	defer remove()

	f, err := mmapfile.Options{
		Flush: mmapfile.FlushPolicy{Bytes: 64 << 10, Interval: time.Second},
	}.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		log.Fatal(err)
	}
	for i := range 3 {
		fmt.Fprintf(f, "event %d\n", i)
	}
	if err := f.Close(); err != nil { // flushes the rest, and tells what a flush before could not
		log.Fatal(err)
	}

	journal, err := os.ReadFile(name)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", journal)
	// Output:
	// event 0
	// event 1
	// event 2
}

// What is written to a private File is gone with it.
func ExampleOptions_private() {
	name, remove := exampleFile("draft")
	defer remove()

	f, err := mmapfile.Options{Private: true}.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("c"), 0); err != nil {
		log.Fatal(err)
	}

	disk, err := os.ReadFile(name)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, in the file %s\n", f.Bytes(), disk)
	// Output: craft, in the file draft
}

// A header that is read and written where it stands.
func ExampleAt() {
	name, remove := exampleFile(string(make([]byte, 64)))
	defer remove()
	f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	type header struct {
		Version uint32
		Count   uint32
	}
	h, err := mmapfile.At[header](f, 0)
	if err != nil {
		log.Fatal(err)
	}
	h.Version = 2
	h.Count++
	if err := f.Sync(); err != nil {
		log.Fatal(err)
	}

	_, err = mmapfile.At[string](f, 0) // which holds a pointer
	fmt.Println(*h, err != nil)
	// Output: {2 1} true
}

// A table of numbers in a file, without reading it into memory.
func ExampleSliceAt() {
	name, remove := exampleFile(string(make([]byte, 8*1000)))
	defer remove()
	f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	squares, err := mmapfile.SliceAt[uint64](f, 0, 1000)
	if err != nil {
		log.Fatal(err)
	}
	for i := range squares {
		squares[i] = uint64(i) * uint64(i)
	}
	fmt.Println(len(squares), squares[999])
	// Output: 1000 998001
}
