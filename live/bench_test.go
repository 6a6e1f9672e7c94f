package live_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/live"
)

// A lookup in a list of 100,000 words by Use, and by Guard of the same file, in turns: use/guard is the median time of
// one divided by that of the other. The lookup of a byte shows the bare difference.
func BenchmarkUse(b *testing.B) {
	name := filepath.Join(b.TempDir(), "words")
	var text bytes.Buffer
	for n := range 100_000 {
		fmt.Fprintf(&text, "word-%06d\n", n)
	}
	if err := os.WriteFile(name, text.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	f, err := mmapfile.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	guarded := list(f.Bytes())
	v, err := live.Open(name, load)
	if err != nil {
		b.Fatal(err)
	}
	defer v.Close()

	for _, lookup := range []string{"word", "byte"} {
		look := func(l list, word []byte) bool { return l.has(word) }
		if lookup == "byte" {
			look = func(l list, word []byte) bool { return l[5] == word[5] }
		}
		byGuard := func(word []byte) (found bool, err error) {
			return found, f.Guard(func() error { found = look(guarded, word); return nil })
		}
		byUse := func(word []byte) (found bool, err error) {
			return found, v.Use(func(l list) error { found = look(l, word); return nil })
		}
		for _, goroutines := range []int{1, 2} {
			b.Run(fmt.Sprintf("lookup=%s/goroutines=%d", lookup, goroutines), func(b *testing.B) {
				if goroutines > runtime.GOMAXPROCS(0) {
					b.Skip("fewer processors")
				}
				const batch = 2000
				run := func(by func(word []byte) (bool, error)) time.Duration {
					var all sync.WaitGroup
					began := time.Now()
					for range goroutines {
						all.Go(func() {
							word := []byte("word-000000")
							for n := range batch {
								word[5] = '0' + byte(n%8)
								if _, err := by(word); err != nil {
									b.Error(err)
								}
							}
						})
					}
					all.Wait()
					return time.Since(began)
				}
				var guard, use []time.Duration
				for b.Loop() {
					guard = append(guard, run(byGuard))
					use = append(use, run(byUse))
				}
				median := func(d []time.Duration) float64 { // other processes disturb some
					slices.Sort(d)
					return float64(d[len(d)/2].Nanoseconds()) / batch
				}
				b.ReportMetric(median(guard), "ns/guard")
				b.ReportMetric(median(use), "ns/use")
				b.ReportMetric(median(use)/median(guard), "use/guard")
			})
		}
	}
}
