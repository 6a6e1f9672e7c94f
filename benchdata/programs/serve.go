package main

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
)

var (
	smallFiles = &dataset{"small-files", func(path string, scale float64) error {
		return makeFiles(path, scaled(1_000, scale), 1<<10, 32<<10)
	}}
	largeFiles = &dataset{"large-files", func(path string, scale float64) error {
		n := max(int(48e6*scale), 4<<10)
		return makeFiles(path, 4, n, n)
	}}
)

var servePrograms = []program{
	{name: "http-small", what: "`http.FileServerFS`: 1,000 files of 1 to 64 KiB", data: smallFiles, run: serve},
	{name: "http-large", what: "`http.FileServerFS`: 4 files of 48 MB", data: largeFiles, run: serve},
	{name: "fs-walk", what: "`fs.WalkDir` over `DirFS`: 1,000 files", data: smallFiles, run: walk, processes: 3},
	{name: "fs-read", what: "`fs.ReadFile` over `DirFS`: 1,000 files of 1 to 64 KiB", data: smallFiles, run: readFiles, processes: 3},
}

func servedName(i int) string { return fmt.Sprintf("file-%04d.dat", i) }

// makeFiles writes n files of low to twice high bytes into a directory, or of low bytes if they are equal.
func makeFiles(path string, n, low, high int) error {
	if err := os.Mkdir(path, 0o755); err != nil {
		return err
	}
	r := random(16)
	for i := range n {
		size := low
		if high > low {
			size = between(r, low, high)
		}
		err := writeFile(filepath.Join(path, servedName(i)), func(w *bufio.Writer) error {
			for size > 0 {
				part := appendNoise(nil, r, min(size, 1<<20))
				if _, err := w.Write(part); err != nil {
					return err
				}
				size -= len(part)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// names returns the names of the files of the dataset, as the os package lists them.
func (e *env) names() (names []string, err error) {
	entries, err := os.ReadDir(e.path)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, err
}

// serve starts a server on the loopback interface and gets all files through one connection.
func serve(e *env) (res result, err error) {
	names, err := e.names()
	if err != nil {
		return res, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return res, err
	}
	server := &http.Server{Handler: http.FileServerFS(e.dirFS(e.path))}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer func() {
		client.CloseIdleConnections()
		err = errors.Join(err, server.Close())
		if e := <-ended; e != http.ErrServerClosed {
			err = errors.Join(err, e)
		}
	}()
	for _, name := range names {
		n, err := get(client, "http://"+listener.Addr().String()+"/"+name)
		if err != nil {
			return res, err
		}
		res.add(n)
	}
	return res, nil
}

// get returns a number that stands for the content.
func get(client *http.Client, url string) (int64, error) {
	response, err := client.Get(url)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s", url, response.Status)
	}
	sum := crc32.NewIEEE()
	n, err := io.CopyBuffer(sum, response.Body, readBuffer())
	return n<<32 | int64(sum.Sum32()), err
}

func walk(e *env) (res result, err error) {
	err = fs.WalkDir(e.dirFS(e.path), ".", func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		res.add(int64(crc32.ChecksumIEEE([]byte(entry.Name()))))
		return nil
	})
	return res, err
}

func readFiles(e *env) (res result, err error) {
	names, err := e.names()
	if err != nil {
		return res, err
	}
	files := e.dirFS(e.path)
	for _, name := range names {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return res, err
		}
		res.add(int64(crc32.ChecksumIEEE(content)))
	}
	return res, nil
}
