package raftlog_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/raftlog"
)

// A cluster of one node. examples/replicated has one of three.
func Example() {
	dir, err := os.MkdirTemp("", "raftlog")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	config := raft.DefaultConfig()
	config.LocalID = "a"
	config.LogOutput = io.Discard
	address, transport := raft.NewInmemTransport("")

	s, err := raftlog.Open(dir, raftlog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	fsm := raftlog.NewFSM(s)
	r, err := raft.NewRaft(config, fsm, s, s, s.Snapshots(), transport)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { r.Shutdown().Error() }()
	members := raft.Configuration{Servers: []raft.Server{{ID: "a", Address: address}}}
	if err := r.BootstrapCluster(members).Error(); err != nil {
		log.Fatal(err)
	}
	<-r.LeaderCh()

	for _, word := range []string{"hello", "world"} {
		if err := r.Apply([]byte(word), time.Second).Error(); err != nil {
			log.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for e, err := range fsm.Follow(ctx, 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", e.Data)
		if string(e.Data) == "world" {
			break
		}
	}
	// Output:
	// hello
	// world
}
