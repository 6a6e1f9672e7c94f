package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/raftlog"
)

var rounds = flag.Int("rounds", 3, "how often a node is killed, or its disk is full, or it stands still")

// less is the number of rounds of the tests that take longer.
func less() int { return max(*rounds/4, 2) }

// A random node is killed under load, and comes back. Every event that append has answered for
// is in each node's stream, once and in the same order.
func TestNodes_Killed(t *testing.T) {
	t.Parallel()
	c := newNodes(t, "127.0.0.1")
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

// Each node redirects to the leader, also if the addresses are host names.
func TestAppend_HostNames(t *testing.T) {
	t.Parallel()
	c := newNodes(t, "localhost")
	for _, p := range c.all {
		c.start(p)
	}
	c.progress()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, p := range c.all {
		for {
			err := c.append(ctx, p)
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("node %s: %v", p.id, err)
			}
		}
	}
}

func TestRun_UnknownID(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	err := run(t.Context(), "d", dir, "a=127.0.0.1:0/127.0.0.1:0", 0, time.Second)
	if err == nil || !strings.Contains(err.Error(), `no node "d" in -cluster`) {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
}

// Events come at once, also if an entry of raft follows them.
func TestFollow_MembersChanged(t *testing.T) {
	store, err := raftlog.Open(t.TempDir(), raftlog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	n := &node{fsm: raftlog.NewFSM(store)}
	logs := []*raft.Log{
		{Index: 1, Type: raft.LogCommand, Data: []byte("one")},
		{Index: 2, Type: raft.LogCommand, Data: []byte("two")},
		{Index: 3, Type: raft.LogConfiguration},
	}
	if err := store.StoreLogs(logs); err != nil {
		t.Fatal(err)
	}
	n.fsm.ApplyBatch(logs)
	server := httptest.NewServer(http.HandlerFunc(n.follow))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	in := bufio.NewScanner(answer.Body)
	for _, want := range []string{`1 "one"`, `2 "two"`} {
		if !in.Scan() || in.Text() != want {
			t.Fatalf("%q, %v, want %q", in.Text(), in.Err(), want)
		}
	}
}
