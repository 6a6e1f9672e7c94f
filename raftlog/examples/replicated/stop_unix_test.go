//go:build unix

package main

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// A random node stands still for a while: its clock, its disk and its network are late.
func TestNodes_Late(t *testing.T) {
	t.Parallel()
	c := newNodes(t, "127.0.0.1")
	for _, p := range c.all {
		c.start(p)
	}
	c.progress()
	stop := c.load()
	defer func() { stop() }()
	for range less() {
		p := c.all[rand.IntN(3)]
		if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond) // so late it is
		if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		c.check(c.checked + 1)
	}
	stop()
	stop = func() {}
	c.check(1)
	t.Logf("%d events", len(c.acked))
}
