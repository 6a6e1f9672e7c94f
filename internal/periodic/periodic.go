// Package periodic calls a function of an object again and again, and does not keep the object
// from being collected.
package periodic

import (
	"runtime"
	"sync"
	"time"
	"weak"
)

// Start calls do with owner at every interval, on a goroutine of its own, until stop is called
// or owner is unreachable. do must not refer to owner by itself. A call that has begun may end
// after stop. stop may be called more than once.
func Start[T any](owner *T, interval time.Duration, do func(owner *T)) (stop func()) {
	ended := make(chan struct{})
	stop = sync.OnceFunc(func() { close(ended) })
	runtime.AddCleanup(owner, func(stop func()) { stop() }, stop)
	go run(weak.Make(owner), interval, do, ended)
	return stop
}

func run[T any](w weak.Pointer[T], interval time.Duration, do func(owner *T), ended <-chan struct{}) {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		select {
		case <-ended:
			return
		case <-t.C:
		}
		owner := w.Value()
		if owner == nil {
			return
		}
		do(owner)
	}
}
