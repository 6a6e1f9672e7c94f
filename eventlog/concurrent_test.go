package eventlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

func TestLog_ManyGoroutines(t *testing.T) {
	t.Parallel()
	rounds := 20
	if small() {
		rounds = 3
	}
	for range rounds {
		name := newName(t)
		l := open(t, name, eventlog.Options{Grow: 4096})
		r := openReader(t, name)
		var g sync.WaitGroup
		var mu sync.Mutex
		appended := 0
		for i := range 4 {
			g.Go(func() {
				for k := 0; ; k++ {
					p := fmt.Append(nil, i, " ", k)
					var err error
					n := 1
					switch k % 2 {
					case 0:
						_, err = l.Append(p)
					case 1:
						n = 2
						_, err = l.AppendBatch(p, p)
					}
					if errors.Is(err, os.ErrClosed) {
						return
					} else if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					appended += n
					mu.Unlock()
				}
			})
		}
		reading := make(chan struct{})
		seen := 0
		for e, err := range r.Follow(context.Background(), 0) {
			must(t, err)
			_ = e.Data
			if seen++; seen == 500 {
				close(reading)
				break
			}
		}
		<-reading
		g.Go(func() {
			for range 3 {
				for _, err := range l.Events(0) { // their memory may go meanwhile
					if err != nil && !errors.Is(err, os.ErrClosed) {
						t.Error(err)
					}
				}
			}
		})
		wantError(t, l.Close(), nil, "Close")
		g.Wait()
		all, err := collect(r.Events(0))
		if len(all) != appended || err != nil || int64(appended) != l.Len() {
			t.Errorf("%d events of %d, %v", len(all), appended, err)
		}
	}
}

func TestAppend_BlocksAppends(t *testing.T) {
	for _, size := range []int{100, 8 << 10} {
		t.Run(fmt.Sprint(size), func(t *testing.T) { testAppendsWait(t, size) })
	}
}

func testAppendsWait(t *testing.T, size int) {
	l := open(t, newName(t), eventlog.Options{})
	const goroutines, each = 4, 50
	inFill, filled := make(chan bool), make(chan bool)
	go func() {
		defer close(filled)
		if _, err := eventlog.AppendFunc(l, 1, func(p []byte) error {
			inFill <- true // and on until the others have begun
			<-inFill
			p[0] = 'f'
			return nil
		}); err != nil {
			t.Error(err)
		}
	}()
	<-inFill
	var begun, appenders sync.WaitGroup
	for g := range goroutines {
		begun.Add(1)
		appenders.Add(1)
		go func() {
			defer appenders.Done()
			begun.Done()
			p := bytes.Repeat([]byte{byte(g)}, size)
			for range each {
				if _, err := l.Append(p); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	begun.Wait()
	close(inFill)
	appenders.Wait()
	<-filled
	var got [goroutines]int
	n := 0
	for e, err := range l.Events(0) {
		must(t, err)
		if n++; n == 1 {
			if string(e.Data) != "f" {
				t.Fatalf("the first event has %d bytes", len(e.Data))
			}
			continue
		}
		if bytes.Count(e.Data, e.Data[:1]) != size {
			t.Fatalf("event %d is not one that was appended", n)
		}
		got[e.Data[0]]++
	}
	for g, k := range got {
		if k != each {
			t.Errorf("%d events of goroutine %d, want %d", k, g, each)
		}
	}
}
