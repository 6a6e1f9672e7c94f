package prices

import (
	"testing"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/blocks"
)

const page = blocks.PageSize

// The bytes of a short write have no price, and those of others have one for each size: what a page takes that makes
// the file longer says nothing of a few bytes.
func TestTookWrite_Bytes(t *testing.T) {
	Reset()
	defer Reset()
	Call.Set(400)
	for range 40 {
		TookWrite(16*page, 400+16*300)
		TookRead(16*page, 16*200)
	}
	if write, read := OfWrite(16*page), OfRead(16*page); write < 5150 || write > 5250 || read < 3150 || read > 3250 {
		t.Errorf("calls of 16 pages are believed to take %d and %d ns, not 5200 and 3200", write, read)
	}
	for range 40 {
		TookWrite(64, 500)
		TookWrite(page, 2_000)
	}
	if now := OfWrite(0); now < 490 || now > 510 {
		t.Errorf("a small write is believed to take %d ns, not 500", now)
	}
	for range 40 { // of what a write takes that is little longer than a page, most is the call
		TookWrite(64, 2_001)
		TookWrite(page+1000, 2_000+2*300)
	}
	if write := OfWrite(page + 1000); write < 2_590 || write > 2_620 {
		t.Errorf("a write of a page and more is believed to take %d ns, not 2600", write)
	}
	for range 40 { // small ones of a file whose bytes are in no cache are no part of others
		TookWrite(64, 5_000)
	}
	if write := OfWrite(page + 1000); page+1000 < Long && (write < 2_590 || write > 2_620) {
		t.Errorf("after small writes that take longer, it is believed to take %d ns", write)
	}
}

// A size is known after two of it, so that a first one that ran cold code tells nothing.
func TestTookRead_Known(t *testing.T) {
	defer Reset()
	for _, n := range []int64{64, Long, 100 * Long} {
		Reset()
		Call.Set(200)
		took := Units(n) * 300
		for i := range 2 {
			if ReadsKnown(n) {
				t.Errorf("%d bytes: %d tell what a read takes", n, i)
			}
			TookRead(n, took)
		}
		if !ReadsKnown(n) {
			t.Errorf("%d bytes: two tell nothing", n)
		}
		for range 40 {
			TookRead(n, took)
		}
		TookRead(n, 0) // it may have waited for the disk
		if now := OfRead(n); now < took*9/10 || now > took*11/10 {
			t.Errorf("a read of %d bytes is believed to take %d, not %d", n, now, took)
		}
	}
	Reset()
	for range 2 { // nor is a size measured for ever that was never in memory
		TookRead(Long, 0)
	}
	if !ReadsKnown(Long) {
		t.Error("reads that were not in memory are to be measured again")
	}
}

// A call that waited for a processor counts little.
func TestTookRead_Waited(t *testing.T) {
	Reset()
	defer Reset()
	const n = 4 << 20
	for range 22 {
		TookRead(n, 74_000)
	}
	TookRead(n, 3_000_000)
	if now := OfRead(n); now > 2*74_000 {
		t.Errorf("a read is believed to take %d after one that waited", now)
	}
}

// A mapping whose pages or processors make it dear can still be paid.
func TestMapping_AtMostStart(t *testing.T) {
	Reset()
	defer Reset()
	Unmap.Set(10 * account.Start)
	if price := Mapping(); price != account.Start {
		t.Errorf("a mapping takes %d, want no more than %d", price, account.Start)
	}
}
