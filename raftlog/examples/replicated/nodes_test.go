package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const childEnv = "REPLICATED_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Args = append(os.Args[:1], strings.Fields(os.Getenv(childEnv))...)
		main()
		return
	}
	os.Exit(m.Run())
}

// process is a node in a process of its own.
type process struct {
	id, dir, web string
	cmd          *exec.Cmd
	output       bytes.Buffer
}

// nodes are three of them, and what was appended.
type nodes struct {
	t       *testing.T
	all     []*process
	cluster string
	client  http.Client

	mu    sync.Mutex
	acked map[int64]string // number and data of what append has answered for
	last  int64            // highest of these
	tried int

	checked int64 // all nodes have the same events up to here
}

// newNodes returns nodes whose raft addresses have that host.
func newNodes(t *testing.T, host string) *nodes {
	t.Helper()
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" || os.Getenv("MMAPFILE_EMULATOR") != "" {
		t.Skip("needs processes and a network")
	}
	c := &nodes{t: t, acked: map[int64]string{}, client: http.Client{Timeout: 10 * time.Second}}
	var list []string
	dir := t.TempDir()
	ports := freePorts(t, 6)
	for i, id := range []string{"a", "b", "c"} {
		web := fmt.Sprint("127.0.0.1:", ports[2*i+1])
		c.all = append(c.all, &process{id: id, dir: filepath.Join(dir, id), web: web})
		list = append(list, fmt.Sprintf("%s=%s:%d/%s", id, host, ports[2*i], web))
	}
	c.cluster = strings.Join(list, ",")
	t.Cleanup(func() {
		for _, p := range c.all {
			if p.cmd != nil {
				c.kill(p)
			}
			if t.Failed() {
				t.Logf("node %s:\n%s", p.id, tail(p.output.String()))
			}
		}
	})
	return c
}

func tail(s string) string { return s[max(0, len(s)-4000):] }

func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Skip("no network: ", err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

func (c *nodes) start(p *process) {
	c.t.Helper()
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), childEnv+"="+
		strings.Join([]string{"-heartbeat=300ms", "-id", p.id, "-dir", p.dir, "-cluster", c.cluster}, " "))
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	if err := p.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *nodes) kill(p *process) {
	p.cmd.Process.Kill()
	p.cmd.Wait()
	p.cmd = nil
}

// append appends an event through a node, and notes the number that it got.
func (c *nodes) append(ctx context.Context, p *process) error {
	c.mu.Lock()
	c.tried++
	data := fmt.Sprint("event ", c.tried, strings.Repeat(" and more", c.tried%40))
	c.mu.Unlock()
	r, err := http.NewRequestWithContext(ctx, "POST", "http://"+p.web+"/append", strings.NewReader(data))
	if err != nil {
		return err
	}
	answer, err := c.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s, %v", answer.Status, text, err)
	}
	seq, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, ok := c.acked[seq]; ok {
		return fmt.Errorf("number %d is that of %q and %q", seq, other, data)
	}
	c.acked[seq], c.last = data, max(c.last, seq)
	return nil
}

// load appends from several goroutines until stop is called.
func (c *nodes) load() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for g := range 16 {
		group.Go(func() {
			for i := g; ctx.Err() == nil; i++ {
				if c.append(ctx, c.all[i%3]) != nil {
					select { // the node is down, or there is no leader yet
					case <-time.After(20 * time.Millisecond):
					case <-ctx.Done():
					}
				}
			}
		})
	}
	return func() {
		cancel()
		group.Wait()
	}
}

// progress waits until the cluster has appended more.
func (c *nodes) progress() {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		for _, p := range c.all {
			if p.cmd != nil && c.append(context.Background(), p) == nil {
				return
			}
		}
		if time.Now().After(deadline) {
			c.t.Fatal("the cluster does not go on")
		}
	}
}

type event struct {
	seq  int64
	data string
}

// events returns the events of a node from number from on, up to number to.
func (c *nodes) events(p *process, from, to int64) (all []event) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		all, err := c.read(p, from, to)
		if err == nil {
			return all
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("node %s has not all from %d to %d: %d events, %v", p.id, from, to, len(all), err)
		}
	}
}

func (c *nodes) read(p *process, from, to int64) (all []event, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("http://%s/follow?from=%d", p.web, from), nil)
	if err != nil {
		return nil, err
	}
	answer, err := c.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	for in := bufio.NewScanner(answer.Body); in.Scan(); {
		number, data, _ := strings.Cut(in.Text(), " ")
		e := event{}
		if e.seq, err = strconv.ParseInt(number, 10, 64); err != nil {
			return all, fmt.Errorf("%q", in.Text())
		}
		if e.data, err = strconv.Unquote(data); err != nil {
			return all, err
		}
		if all = append(all, e); e.seq >= to {
			return all, nil
		}
	}
	return all, io.ErrUnexpectedEOF
}

// check compares the streams of all nodes from number from on with one another, and with what
// append has answered for.
func (c *nodes) check(from int64) {
	c.t.Helper()
	c.progress()
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	want := c.events(c.all[0], from, last)
	seen, n := map[string]bool{}, 0
	for i, e := range want {
		if i > 0 && want[i-1].seq >= e.seq || seen[e.data] {
			c.t.Fatalf("event %d, %q, comes again", e.seq, e.data)
		}
		seen[e.data] = true
		c.mu.Lock()
		if data, ok := c.acked[e.seq]; ok {
			if n++; data != e.data {
				c.t.Errorf("event %d is %q, want %q", e.seq, e.data, data)
			}
		}
		c.mu.Unlock()
	}
	c.mu.Lock()
	for seq := range c.acked {
		if seq >= from && seq <= last {
			n--
		}
	}
	c.mu.Unlock()
	if n != 0 {
		c.t.Fatalf("%d events that append has answered for are missing", -n)
	}
	for _, p := range c.all[1:] {
		got := c.events(p, from, last)
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				c.t.Fatalf("node %s: event %d of %d differs from that of node %s", p.id, i, len(got), c.all[0].id)
			}
		}
	}
	c.checked = last
}
