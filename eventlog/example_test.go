package eventlog_test

import (
	"context"
	"expvar"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"go.dw1.io/mmapfile/eventlog"
)

// exampleName is the name of a log for an example.
func exampleName() (name string, remove func()) {
	dir, err := os.MkdirTemp("", "eventlog")
	if err != nil {
		log.Fatal(err)
	}
	return filepath.Join(dir, "events.log"), func() { os.RemoveAll(dir) }
}

func Example() {
	name, remove := exampleName()
	defer remove()
	l, err := eventlog.Open(name, eventlog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	for _, s := range []string{"one", "two"} {
		if _, err := l.Append([]byte(s)); err != nil {
			log.Fatal(err)
		}
	}
	for e, err := range l.Events(0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %s\n", e.Offset, e.Data)
	}
	// Output:
	// 24 one
	// 43 two
}

// A reader, which may be in another process, waits for what is appended.
func ExampleReader_Follow() {
	name, remove := exampleName()
	defer remove()
	l, err := eventlog.Open(name, eventlog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	r, err := eventlog.OpenReader(name)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	go l.AppendBatch([]byte("first"), []byte("second"))
	for e, err := range r.Follow(context.Background(), 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", e.Data)
		if string(e.Data) == "second" {
			break
		}
	}
	// Output:
	// first
	// second
}

// A dashboard that reads expvar gets the figures of all logs.
func ExampleReadStats() {
	expvar.Publish("eventlog", expvar.Func(func() any {
		var s eventlog.Stats
		eventlog.ReadStats(&s)
		return s
	}))
	fmt.Println(strings.Contains(expvar.Get("eventlog").String(), `"Appends":`))
	// Output: true
}
