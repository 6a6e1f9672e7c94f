package ostest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The seeds of FuzzParity are files in its corpus. MMAPFILE_WRITE_SEEDS=1 go test -run
// TestFuzzParity_Seeds writes them.

var seedDir = filepath.Join("testdata", "fuzz", "FuzzParity")

// op is one operation of a seed: its name in opNames, and the other four bytes.
type op struct {
	name              string
	place, dist, n, d byte
}

// number returns the index of the operation in randomOps.
func (o op) number() byte {
	i := strings.Index(opNames, o.name+" ")
	if i < 0 {
		panic("no operation " + o.name)
	}
	return byte(strings.Count(opNames[:i], " "))
}

// opNames has the names of randomOps, each followed by a space.
const opNames = "read readAt readSome write writeString writeAt writeSome seek truncate copyIn copyOut sync lengths bytes view " +

	"handOver reopen reads writes writes2 otherAppends otherWrites cut cut2 where disk "

func seeds() [][]byte {
	var all [][]byte
	add := func(kind byte, pages, delta byte, ops ...op) {
		b := []byte{kind, pages, delta}
		for _, o := range ops {
			b = append(b, o.number(), o.place, o.dist, o.n, o.d)
		}
		all = append(all, b)
	}
	// Each truncates a mapped file in the middle of a page, and makes all calls around the new
	// end. The kinds are zeros and pattern; lazy, read, eager and prefaulted.
	for _, kind := range []byte{0, 1, 18, 19, 36, 37, 54, 55} {
		add(kind, 3, 17,
			op{"reads", 0, 0, 8, 0}, op{"writes", 1, 236, 5, 3}, op{"cut", 1, 226, 0, 0}, op{"readAt", 1, 246, 30, 0},
			op{"writes", 1, 246, 15, 0}, op{"cut", 3, 1, 0, 0}, op{"writeSome", 1, 0, 0, 0}, op{"disk", 0, 0, 0, 0},
			op{"cut", 7, 0, 0, 0}, op{"writeAt", 1, 251, 10, 1}, op{"view", 1, 246, 10, 1}, op{"lengths", 0, 0, 0, 0})
		add(kind, 1, 0,
			op{"read", 0, 0, 20, 0}, op{"otherAppends", 0, 0, 200, 1}, op{"read", 0, 0, 255, 0}, op{"otherAppends", 0, 0, 3, 0},
			op{"read", 0, 0, 3, 0}, op{"read", 0, 0, 3, 0}, op{"bytes", 1, 240, 10, 1}, op{"truncate", 4, 9, 0, 0},
			op{"readAt", 1, 250, 30, 0}, op{"truncate", 1, 60, 0, 0}, op{"readAt", 1, 200, 70, 0}, op{"reopen", 0, 0, 0, 0}, op{"reads", 2, 250, 9, 0})
		add(kind, 5, 200,
			op{"reads", 4, 0, 3, 0}, op{"seek", 4, 3, 0, 2}, op{"copyOut", 0, 0, 50, 1}, op{"handOver", 0, 9, 9, 2}, op{"write", 0, 0, 60, 2},
			op{"copyIn", 0, 0, 100, 48}, op{"where", 0, 0, 0, 0}, op{"sync", 0, 0, 0, 0}, op{"writes", 0, 4, 9, 1}, op{"copyOut", 0, 0, 0, 0}, op{"disk", 0, 0, 0, 0})
	}
	// One random sequence for each kind of File.
	for i := range uint64(24) {
		all = append(all, randomSequence(i*9+1000))
	}
	return all
}

func TestFuzzParity_Seeds(t *testing.T) {
	if n := strings.Count(opNames, " "); n != len(randomOps) {
		t.Fatalf("%d names for %d operations", n, len(randomOps))
	}
	for i, b := range seeds() {
		want := fmt.Appendf(nil, "go test fuzz v1\n[]byte(%q)\n", b)
		path := filepath.Join(seedDir, fmt.Sprintf("seed%02d", i))
		if os.Getenv("MMAPFILE_WRITE_SEEDS") != "" {
			if err := os.MkdirAll(seedDir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if got = bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what its generator makes (%v)", path, err)
		}
	}
}

func TestParity_RandomSequences(t *testing.T) {
	t.Parallel()
	seeds := uint64(300)
	if testing.Short() || runtime.GOARCH == "wasm" {
		seeds = 72 // all kinds once, because it is slow
	}
	for seed := range seeds {
		runRandom(t, randomSequence(seed))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// randomSequence returns a sequence that depends on seed alone.
func randomSequence(seed uint64) []byte {
	rnd := rand.New(rand.NewPCG(seed, 42))
	b := make([]byte, headBytes+opBytes*(5+rnd.IntN(maxOps-5)))
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	b[0] = byte(seed) // covers all contents, states and flags
	return b
}
