package mmapfile_test

import (
	"bufio"
	"bytes"
	"errors"
	"expvar"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"go.dw1.io/mmapfile"
)

// The one change at a call site: the package's name.
func Example() {
	dir, err := os.MkdirTemp("", "mmapfile")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "words.txt")
	if err := os.WriteFile(name, []byte("one\ntwo\nthree\n"), 0o666); err != nil {
		log.Fatal(err)
	}

	f, err := mmapfile.Open(name) // was: os.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fmt.Println(lines.Text())
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// one
	// two
	// three
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
	err = f.View(0, int64(f.Len()), func(p []byte) error {
		sum = crc32.ChecksumIEEE(p) // p must not outlive this function
		return nil
	})
	if err != nil {
		log.Fatal(err) // for one, the file was truncated or closed meanwhile
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

// OS is for what takes an *os.File and nothing else. It goes on where f is.
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

// A child process inherits an *os.File; of any other Reader it would get a copy through a pipe.
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

// A part of a file, as a browser asks for it when a download goes on.
func ExampleDirFS() {
	dir, err := os.MkdirTemp("", "mmapfile")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "words.txt"), []byte("one\ntwo\nthree\n"), 0o666); err != nil {
		log.Fatal(err)
	}
	request := httptest.NewRequest("GET", "/words.txt", nil)
	request.Header.Set("Range", "bytes=4-6")
	answer := httptest.NewRecorder()
	http.FileServerFS(mmapfile.DirFS(dir)).ServeHTTP(answer, request) // was: os.DirFS(dir)
	fmt.Println(answer.Code, answer.Header().Get("Content-Range"))
	fmt.Println(answer.Body)
	// Output:
	// 206 bytes 4-6/14
	// two
}
