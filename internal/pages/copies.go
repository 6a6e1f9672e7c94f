package pages

import (
	"math/rand/v2"
	"time"
)

// A long read of a hot file may take longer from the mapping than by system call: from large folios, the system copies
// 40 KiB in 0.8 to 1 times the time. So what a page takes is measured both ways.

// random draws a number. The simulation has its own.
var random = rand.Uint32

// TimesRead reports whether the next read by system call, of n bytes at off, is to be timed for SetRead: its pages
// were seen, so it does not wait for the disk.
func (p *Pages) TimesRead(off int64, n int) bool {
	return n >= Judged && p.Times() && p.Seen(off, n)
}

// SetRead records what a long read of n bytes by system call has taken.
func SetRead(n int, took time.Duration) {
	readPage.measure(int64(took)-callPrice.now(), int64(n)>>PageBits)
}

// SetCopy records what the copy of one from the mapping has taken.
func SetCopy(n int, took time.Duration) { copyPage.measure(int64(took), int64(n)>>PageBits) }

// CopyPays reports whether a read of n bytes takes no longer from the mapping. A test whose account has no limit is
// not to depend on that.
func CopyPays(n int) bool {
	return n < Judged || copyPage.bytes(int64(n)) <= callPrice.now()+readPage.bytes(int64(n)) || Eager || always || affords(accountMax)
}

// copySaves returns what the bytes of a read save from the mapping.
func copySaves(n int64) int64 {
	if n < Judged {
		return 0
	}
	return readPage.bytes(n) - copyPage.bytes(n)
}

// vainPrice returns what a call of n bytes by the mapping takes that is then repeated by system call.
func vainPrice(n int64) int64 { return 50 + copyPage.bytes(n) }

// How is how a long read that may copy from the mapping is made.
type How int

const (
	Copy      How = iota
	TimedCopy     // for SetCopy
	TimedRead     // by system call, for Compared
)

// DrawHow draws a How for n bytes: the prices must be known of files as they are read now, and by chance no period
// of a program is missed. Beside a very long copy, the clock costs nothing.
func DrawHow(n int) How {
	switch r := random() % 64; {
	case r == 0 && !always:
		return TimedRead
	case r < 5 || n >= AheadBytes:
		return TimedCopy
	}
	return Copy
}

// Compared records what a read of n bytes by system call has taken, which Ready has counted as one from the mapping.
func (p *Pages) Compared(n int, took time.Duration) {
	SetRead(n, took)
	p.begin().countCalls(Unpaid, 1)
}
