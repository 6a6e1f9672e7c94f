// Package account bounds what a process spends on trials: work that pays only if a file is used again.
//
// There is one account for the process. A share of what calls take, and what they save, is added to it, and what a
// trial took is subtracted. Above zero anything may be tried, and below zero nothing is. Prices are measured as events
// happen.
package account

import "sync/atomic"

const (
	// Start is the number of nanoseconds that trying may cost at first: with less, random reads gain later, and with more,
	// short lives lose more.
	Start = 160 * 430
	// Max is the most that the account can have, whatever was saved.
	Max = 8 * Start
)

// balance is what trying may cost by now, in nanoseconds.
var balance atomic.Int64

// counting is set while the account is not full.
var counting atomic.Bool

func init() { Set(Start) }

// Earn adds what system calls allow, or mapped calls have saved.
func Earn(ns int64) {
	for {
		old := balance.Load()
		if old >= Max {
			counting.Store(false)
			return
		}
		if balance.CompareAndSwap(old, min(old+ns, Max)) {
			return
		}
	}
}

// Counting reports whether what mapped calls save matters: the account is not full.
func Counting() bool { return counting.Load() }

// Spend subtracts what a trial took.
func Spend(took int64) {
	balance.Add(-took)
	if !counting.Load() {
		counting.Store(true)
	}
}

// Affords reports whether the account has more than ns nanoseconds.
func Affords(ns int64) bool { return balance.Load() > ns }

// Balance returns what the account has. It is for tests.
func Balance() int64 { return balance.Load() }

// Set sets the account, and says that it is not full. It is for tests.
func Set(ns int64) {
	balance.Store(ns)
	counting.Store(true)
}

// Unbound gives the process an account that no program exhausts. It is for tests, which share a process.
func Unbound() { Set(1 << 60) }

// IsUnbound reports whether Unbound was called.
func IsUnbound() bool { return Affords(Max) }
