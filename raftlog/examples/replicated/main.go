// Command replicated is one node of a stream of events on three machines.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/raftlog"
)

func main() {
	id := flag.String("id", "a", "which node of the cluster this one is")
	dir := flag.String("dir", "", "directory of this node (data-ID)")
	nodes := flag.String("cluster", "a=127.0.0.1:7001/127.0.0.1:8001,b=127.0.0.1:7002/127.0.0.1:8002,c=127.0.0.1:7003/127.0.0.1:8003",
		"the nodes: ID=RAFT/HTTP,...")
	trailing := flag.Uint64("keep", 1_000_000, "entries of raft's log that are kept, at least; some are not events")
	heartbeat := flag.Duration("heartbeat", time.Second, "without one for so long, another leader is elected")
	flag.Parse()
	if *dir == "" {
		*dir = "data-" + *id
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *id, *dir, *nodes, *trailing, *heartbeat); err != nil {
		log.Fatal(err)
	}
}

// node is this machine.
type node struct {
	raft *raft.Raft
	fsm  *raftlog.FSM
	http map[raft.ServerID]string // of all nodes
}

func run(ctx context.Context, id, dir, nodes string, trailing uint64, heartbeat time.Duration) error {
	n := &node{http: map[raft.ServerID]string{}}
	cluster, me := raft.Configuration{}, raft.ServerAddress("")
	for s := range strings.SplitSeq(nodes, ",") {
		name, addresses, _ := strings.Cut(s, "=")
		address, web, ok := strings.Cut(addresses, "/")
		if !ok {
			return fmt.Errorf("%q is not ID=RAFT/HTTP", s)
		}
		cluster.Servers = append(cluster.Servers, raft.Server{ID: raft.ServerID(name), Address: raft.ServerAddress(address)})
		n.http[raft.ServerID(name)] = web
		if name == id {
			me = raft.ServerAddress(address)
		}
	}
	if me == "" {
		return fmt.Errorf("no node %q in -cluster", id)
	}

	store, err := raftlog.Open(dir, raftlog.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	// For TLS: raft.NewNetworkTransport with a StreamLayer whose Dial and Accept are crypto/tls's.
	transport, err := raft.NewTCPTransport(string(me), nil, 3, 5*time.Second, os.Stderr)
	if err != nil {
		return err
	}
	defer transport.Close()
	config := raft.DefaultConfig()
	config.LocalID = raft.ServerID(id)
	config.LogLevel = "WARN"
	config.TrailingLogs = trailing
	config.HeartbeatTimeout, config.ElectionTimeout, config.LeaderLeaseTimeout = heartbeat, heartbeat, heartbeat/2
	n.fsm = raftlog.NewFSM(store)
	if n.raft, err = raft.NewRaft(config, n.fsm, store, store, store.Snapshots(), transport); err != nil {
		return err
	}
	defer func() { n.raft.Shutdown().Error() }()
	// All begin with the same members. Later ones come with AddVoter, and go with RemoveServer.
	if err := n.raft.BootstrapCluster(cluster).Error(); err != nil && !errors.Is(err, raft.ErrCantBootstrap) {
		return err
	}

	listener, err := net.Listen("tcp", n.http[config.LocalID])
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /append", n.append)
	mux.HandleFunc("GET /follow", n.follow)
	server := &http.Server{Handler: mux, BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// append appends the request's body as an event, and answers with its number. If this node is
// not the leader it names the one that is.
func (n *node) append(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	event := n.raft.Apply(data, 5*time.Second)
	switch err := event.Error(); {
	case err == nil:
		fmt.Fprintln(w, event.Index())
	case errors.Is(err, raft.ErrNotLeader):
		// Not the address: raft gives the resolved one, which may differ from that in -cluster.
		_, leader := n.raft.LeaderWithID()
		if web := n.http[leader]; web != "" {
			http.Redirect(w, r, "http://"+web+"/append", http.StatusTemporaryRedirect)
			return
		}
		http.Error(w, "no leader", http.StatusServiceUnavailable)
	default: // after ErrLeadershipLost the event may still come
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// follow answers with a line for each event, its number and its data, as they come.
func (n *node) follow(w http.ResponseWriter, r *http.Request) {
	from, err := strconv.ParseUint("0"+r.FormValue("from"), 10, 64)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	lines := make(chan string, 64)
	go func() {
		defer close(lines)
		for e, err := range n.fsm.Follow(r.Context(), from) {
			line := fmt.Sprintf("%d %q\n", e.Index, e.Data)
			if err != nil {
				line = fmt.Sprintln("error:", err)
			}
			select {
			case lines <- line:
			case <-r.Context().Done():
				return
			}
		}
	}()
	flush := http.NewResponseController(w)
	flush.Flush()
	for line := range lines {
		io.WriteString(w, line)
		if len(lines) == 0 { // there is no further event yet
			flush.Flush()
		}
	}
}
