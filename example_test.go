package mmapfile_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"expvar"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.dw1.io/mmapfile"
)

// The only change at a call site is the package's name. Once the pages of the file have been read often
// enough, reads are memory copies.
func Example() {
	dir, err := os.MkdirTemp("", "mmapfile")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "records")
	if err := os.WriteFile(name, bytes.Repeat([]byte{1}, 1000*64), 0o666); err != nil {
		log.Fatal(err)
	}

	f, err := mmapfile.Open(name) // was: os.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	record := make([]byte, 64)
	for range 100_000 { // one of 1,000 records at random: the longer it runs, the fewer system calls
		if _, err := f.ReadAt(record, 64*rand.Int64N(1_000)); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(len(record))
	// Output: 64
}

// A size after the permissions makes the file at least that long.
func ExampleOpenFile() {
	dir, err := os.MkdirTemp("", "mmapfile")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "records")

	// Room for 1,000 records of 64 bytes, allocated here: a disk that is too full says so now.
	f, err := mmapfile.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666, 1000*64)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	if _, err := f.WriteAt([]byte("the last one"), 999*64); err != nil {
		log.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Len())
	// Output: 64000
}

// The whole file as one slice, without a copy.
func ExampleFile_Bytes() {
	f, err := mmapfile.CreateTemp("", "mmapfile")
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.WriteString("key: value\n"); err != nil {
		log.Fatal(err)
	}

	// The slice is valid until Close, unless the file is truncated.
	key, _, _ := bytes.Cut(f.Bytes(), []byte(":"))
	fmt.Printf("%s\n", key)
	// Output: key
}

// A checksum of the file in place. A fault on the way is an error, not the end of the process.
func ExampleFile_View() {
	f, err := mmapfile.CreateTemp("", "mmapfile")
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.WriteString("123456789"); err != nil {
		log.Fatal(err)
	}

	var sum uint32
	err = f.View(0, f.Len(), func(p []byte) error {
		sum = crc32.ChecksumIEEE(p) // p must not outlive this function
		return nil
	})
	if err != nil {
		log.Fatal(err) // for example, the file was truncated or closed meanwhile
	}
	fmt.Printf("%08x\n", sum)
	// Output: cbf43926
}

// New takes over a file that something else has opened, here an [os.Root].
func ExampleNew() {
	dir, err := os.MkdirTemp("", "mmapfile")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer root.Close()
	inner, err := root.Create("greeting")
	if err != nil {
		log.Fatal(err)
	}

	f, err := mmapfile.New(inner)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close() // closes inner, which belongs to f now

	if _, err := f.WriteString("hello, world"); err != nil {
		log.Fatal(err)
	}
	word := make([]byte, 5)
	if _, err := f.ReadAt(word, 7); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", word)
	// Output: world
}

// OS returns an *os.File for functions that accept nothing else. Its offset is the cursor of f.
func ExampleFile_OS() {
	f, err := mmapfile.CreateTemp("", "mmapfile")
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.WriteString("hello, world"); err != nil {
		log.Fatal(err)
	}
	if _, err := f.Seek(7, io.SeekStart); err != nil {
		log.Fatal(err)
	}

	printRest := func(inner *os.File) {
		rest, err := io.ReadAll(inner)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", rest)
	}
	printRest(f.OS())
	// Output: world
}

// A child process inherits an *os.File; any other Reader is copied to it through a pipe.
func ExampleFile_OS_command() {
	f, err := mmapfile.Open("words.txt")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	cmd := exec.Command("sort")
	cmd.Stdin = f.OS()
	cmd.Stdout = os.Stdout
	if err := cmd.Run(); err != nil {
		log.Fatal(err)
	}
}

// ReadAt may be called from any number of goroutines.
func ExampleFile_ReadAt() {
	f, err := mmapfile.CreateTemp("", "mmapfile")
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.WriteString("north\neast \nsouth\nwest \n"); err != nil {
		log.Fatal(err)
	}

	const size = 6 // of a record
	var records [4][size]byte
	var errs [4]error
	var readers sync.WaitGroup
	for i := range records {
		readers.Go(func() {
			_, errs[i] = f.ReadAt(records[i][:], int64(i)*size)
		})
	}
	readers.Wait()

	if err := errors.Join(errs[:]...); err != nil {
		log.Fatal(err)
	}
	for _, r := range records {
		fmt.Printf("%s\n", bytes.TrimSpace(r[:]))
	}
	// Output:
	// north
	// east
	// south
	// west
}

// A dashboard that reads expvar gets the figures of all Files.
func ExampleReadStats() {
	expvar.Publish("mmapfile", expvar.Func(func() any {
		var s mmapfile.Stats
		mmapfile.ReadStats(&s)
		return s
	}))
	fmt.Println(strings.Contains(expvar.Get("mmapfile").String(), `"MappedFiles":`))
	// Output: true
}

// A program that gains nothing asks why. This one logs to a file that it has opened for writing only.
func ExampleFile_SystemCalls() {
	name, remove := exampleFile("")
	defer remove()
	f, err := mmapfile.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for i := range 1000 {
		fmt.Fprintf(f, "event %d\n", i)
	}

	calls := f.SystemCalls()
	mostly, _, _ := strings.Cut(calls.String(), " ") // such as "Unmappable 968, First 32"
	fmt.Println(calls.Total(), mostly)
	// Output: 1000 Unmappable
}

// Serve a part of a file, as a browser requests it to resume a download.
func ExampleDirFS() {
	dir, err := os.MkdirTemp("", "mmapfile")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	if member, err := w.Create("words.txt"); err != nil {
		log.Fatal(err)
	} else if _, err := io.WriteString(member, "one\ntwo\nthree\n"); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "words.zip"), archive.Bytes(), 0o666); err != nil {
		log.Fatal(err)
	}

	f, err := mmapfile.DirFS(dir).Open("words.zip") // was: os.DirFS(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close() // as long as it is open, its members are read in small pieces
	words, err := zip.NewReader(f.(io.ReaderAt), int64(archive.Len()))
	if err != nil {
		log.Fatal(err)
	}
	text, err := fs.ReadFile(words, "words.txt")
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// one
	// two
	// three
	// <nil>
}

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

// NewFile returns nil for an invalid descriptor, as os.NewFile does.
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

// If the places to read are known in advance, they can be read into memory all at once.
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

// Advice is a hint; a platform that cannot use it returns an error.
func ExampleFile_Advise() {
	name, remove := exampleFile("a long file")
	defer remove()
	f, err := mmapfile.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	err = f.Advise(0, f.Len(), mmapfile.Sequential)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", f.Bytes())
	// Output: a long file
}

// An index that must never wait for the disk is locked in memory, within the limits of the system.
func ExampleFile_LockMemory() {
	name, remove := exampleFile("index")
	defer remove()
	f, err := mmapfile.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	switch err := f.LockMemory(0, f.Len()); {
	case err == nil:
		defer f.UnlockMemory(0, f.Len())
	case !errors.Is(err, errors.ErrUnsupported):
		log.Print(err) // over RLIMIT_MEMLOCK, perhaps: it is slower, and as good
	}
	fmt.Printf("%s\n", f.Bytes())
	// Output: index
}

// Make durable only the record that was written.
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

// A journal that loses less than 64 KiB in a crash of the machine, and nothing older than a second.
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

// Writes to a private File never reach the file.
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

// Read and write a header in place.
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
