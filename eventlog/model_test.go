package eventlog_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

// Random calls do to a log what they do to a list.
func TestLog_Model(t *testing.T) {
	t.Parallel()
	rounds := 25
	if small() {
		rounds = 4
	}
	for round := range rounds {
		rnd := rand.New(rand.NewPCG(5, uint64(round)))
		o := eventlog.Options{Grow: []int64{0, 1, 5000}[rnd.IntN(3)], Verify: []int64{eventlog.VerifyAll, 1000, eventlog.VerifyNone}[rnd.IntN(3)]}
		if rnd.IntN(3) == 0 {
			o.MaxSize = 20_000
		}
		name := newName(t)
		l, r := open(t, name, o), openReader(t, name)
		var model []string
		size := int64(24)
		some := func() []byte {
			p := make([]byte, []int{0, 1, 13, 500, 5000}[rnd.IntN(5)])
			for i := range p {
				p[i] = byte(rnd.Uint32())
			}
			return p
		}
		for range 200 {
			var ps [][]byte
			var off int64
			var err error
			switch what := rnd.IntN(20); {
			case what < 10:
				ps = [][]byte{some()}
				off, err = l.Append(ps[0])
			case what < 13:
				for range 1 + rnd.IntN(4) {
					ps = append(ps, some())
				}
				off, err = l.AppendBatch(ps...)
			case what < 16:
				ps = [][]byte{some()}
				off, err = l.AppendSync(ps[0])
			case what < 18:
				want(t, l.Events(0), model...)
				want(t, r.Events(0), model...)
				continue
			case what < 19:
				must(t, l.Close())
				if fi, err := os.Stat(name); err != nil || fi.Size() != size+markSize && !keepsRoom {
					t.Fatalf("%d bytes after Close, want %d, %v", fi.Size(), size+markSize, err)
				}
				l = open(t, name, o)
				continue
			default:
				must(t, l.Sync())
				continue
			}
			total := int64(0)
			for _, p := range ps {
				total += 16 + int64(len(p))
			}
			switch {
			case errors.Is(err, eventlog.ErrFull):
				if o.MaxSize == 0 || size+total <= o.MaxSize {
					t.Fatalf("ErrFull at %d of %d, for %d", size, o.MaxSize, total)
				}
				continue
			case err != nil:
				t.Fatal(err)
			case off != size:
				t.Fatalf("it is at %d, want %d", off, size)
			}
			size += total
			for _, p := range ps {
				model = append(model, string(p))
			}
			if l.Size() != size || l.Len() != int64(len(model)) {
				t.Fatalf("%d bytes, %d events; want %d, %d", l.Size(), l.Len(), size, len(model))
			}
		}
	}
}
