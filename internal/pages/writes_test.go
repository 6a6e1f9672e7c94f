package pages

import (
	"testing"
	"time"
)

func TestPages_PriceOutlier(t *testing.T) {
	t.Parallel()
	var p Pages
	const n = BlockSize
	p.SetPrice(n, time.Second)
	for range 20 {
		p.SetPrice(n, 5000)
	}
	r := p.begin().record
	if got := r.price.Load(); got > 8000 {
		t.Errorf("%d after samples of 5000", got)
	}
	for range 20 {
		p.SetPrice(n, 100_000)
	}
	if got := r.price.Load(); got < 80_000 {
		t.Errorf("%d after samples of 100000", got)
	}
	if got, want := r.blockPrice(), uint64(r.price.Load())/savingMin; got != want {
		t.Errorf("a price of %d for a block, want %d", got, want)
	}
}

// What a mapped write saves is measured: with large folios a pwrite of 64 B takes 9 µs.
func TestPages_Saving(t *testing.T) {
	t.Parallel()
	var p Pages
	if got := p.begin().writeSaving(); got != savingMin {
		t.Errorf("a saving of %d without samples", got)
	}
	p.begin()
	for took, want := range map[time.Duration]uint64{8000: 8000, 100: savingMin, time.Second: savingMax} {
		for range 40 {
			p.SetSaving(took)
		}
		if got := p.begin().writeSaving(); got < want*9/10 || got > want*11/10 {
			t.Errorf("a saving of %d after samples of %d", got, took)
		}
	}
	r := p.begin().record
	for range 40 {
		p.SetSaving(8000)
		p.SetPrice(BlockSize, 20_000)
	}
	if got := r.blockPrice(); got > 3 {
		t.Errorf("a block of 20 µs is prefaulted after %d writes that save 8 µs each", got)
	}
}

func TestPages_PriceAfterLosses(t *testing.T) {
	t.Parallel()
	var p record
	first := p.blockPrice()
	if want := max(firstPrice/savingMin, 1); first != uint64(want) {
		t.Errorf("a price of %d without samples, want %d", first, want)
	}
	p.lost()
	p.lost()
	if got := p.blockPrice(); got != 4*first {
		t.Errorf("a price of %d after two losses, and %d before", got, first)
	}
	for range 100 {
		p.lost()
	}
	if got := p.blockPrice(); got != savedMax {
		t.Errorf("a price of %d after many losses, want %d", got, savedMax)
	}
	for range 10_000 {
		p.gained()
	}
	if got := p.blockPrice(); got != first {
		t.Errorf("a price of %d after many gains, want %d", got, first)
	}
}
