package regret

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

func TestProgram_Text(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	p := plain
	for i := range 2000 {
		if p = p.Mutate(r, true, true); i%2 == 0 {
			p = Draw(r, true, true)
		}
		again, err := Parse(p.String())
		if err != nil || again != p {
			t.Fatalf("%s is read as %s: %v", p, again, err)
		}
		if p.Life*p.Lives > maxCalls || p.Life*p.Len > maxBytes || p.Len > p.Size {
			t.Fatalf("beyond the limits: %s", p)
		}
	}
	for _, text := range []string{"size", "size=-1", "size=10,len=11", "calls=3", "pattern=none", "life=0"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("no error for %q", text)
		}
	}
}

func TestRun_EachPattern(t *testing.T) {
	if Missing != "" {
		t.Skip(Missing)
	}
	path := filepath.Join(t.TempDir(), "file")
	for _, pattern := range patterns {
		for _, more := range []string{"", ",writes=40,vary=1,sync=50", ",fresh=1,spread=4,len=700"} {
			p, err := Parse("size=200000,life=100,lives=3,pattern=" + pattern + more)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Make(path); err != nil {
				t.Fatal(err)
			}
			for _, impl := range []string{"os", "mmapfile"} {
				var out bytes.Buffer
				if err := Run(Args(p, impl, path)[1:], &out); err != nil {
					t.Errorf("%s with %s: %v", p, impl, err)
				}
				var wall, cpu float64
				if _, err := fmt.Fscan(&out, &wall, &cpu); err != nil || wall <= 0 {
					t.Errorf("%s with %s: %g and %g: %v", p, impl, wall, cpu, err)
				}
			}
		}
	}
}
