package main

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

var rounds = flag.Int("rounds", 3, "how often a node is killed, or its disk is full, or it stands still")

// less is the number of rounds of the tests that take longer.
func less() int { return max(*rounds/4, 2) }

// A random node is killed under load, and comes back. Every event that append has answered for
// is in each node's stream, once and in the same order.
func TestNodes_Killed(t *testing.T) {
	t.Parallel()
	c := newNodes(t)
	for _, p := range c.all {
		c.start(p)
	}
	c.progress()
	stop := c.load()
	defer func() { stop() }()
	for round := range *rounds {
		p := c.all[rand.IntN(3)]
		time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond) // the moment is random
		c.kill(p)
		c.progress()
		c.start(p)
		c.check(c.checked + 1)
		if round%20 == 19 {
			t.Logf("%d rounds, %d events", round+1, len(c.acked))
		}
	}
	stop()
	stop = func() {}
	c.check(1)
	t.Logf("%d events", len(c.acked))
}
