//go:build mmapfile_eager

package pages

import (
	"math"
	"time"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/evictions"
	"go.dw1.io/mmapfile/internal/prices"
)

// Eager says whether this build has the eager policy of the tests.
const Eager = true

// The policy of the tests, with every number that delays a trial at its smallest: what comes back once
// is mapped, what is mapped is prefaulted, and what is known is forgotten at once.
const (
	mapFrom   = 1
	readyFrom = 1

	richFrom = math.MaxInt64

	waitLooks   = 0
	recordOne   = 1
	incomeShare = 64

	periodEvery = 1

	dearEvery = 1

	longShare = 36

	reserveFrom = 0

	AheadBytes = BlockSize
	Long       = prices.Long
	LookEvery  = 1
)

func init() {
	account.Unbound()
	evictions.Pause, evictions.Tick, evictions.Blind = 0, time.Millisecond, time.Millisecond
}
