package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"path/filepath"

	"go.dw1.io/mmapfile/eventlog"
)

func ExampleStream() {
	name, remove := exampleName()
	defer remove()
	s, err := eventlog.OpenStream(filepath.Dir(name), eventlog.StreamOptions{RetainBytes: 1 << 30})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, d := range []string{"zero", "one", "two"} {
		if _, err := s.Append([]byte(d)); err != nil {
			log.Fatal(err)
		}
	}
	seq, err := s.AppendSync([]byte("three")) // and all before it
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(seq, s.Durable())
	if err := s.TruncateFront(2); err != nil {
		log.Fatal(err)
	}
	for e, err := range s.Events(s.First()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %s\n", e.Seq, e.Data)
	}
	_, err = s.Get(1)
	fmt.Println(errors.Is(err, eventlog.ErrTruncated))
	// Output:
	// 3 4
	// 2 two
	// 3 three
	// true
}

// A reader, which may be in another process, continues after what it has read before.
func ExampleStreamReader_Follow() {
	name, remove := exampleName()
	defer remove()
	s, err := eventlog.OpenStream(filepath.Dir(name), eventlog.StreamOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	r, err := eventlog.OpenStreamReader(filepath.Dir(name))
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	go s.AppendBatch([]byte("zero"), []byte("one"), []byte("two"))
	next := int64(0)
	for next < 3 {
		first, err := r.First()
		if err != nil {
			log.Fatal(err)
		}
		next = max(next, first)
		for e, err := range r.Follow(context.Background(), next) {
			if errors.Is(err, eventlog.ErrTruncated) {
				break // events were removed before they were read
			}
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("%d %s\n", e.Seq, e.Data)
			if next = e.Seq + 1; next == 3 {
				break
			}
		}
	}
	// Output:
	// 0 zero
	// 1 one
	// 2 two
}
