//go:build mmapfile_eager

package pages

import "time"

// Eager says whether this build has the eager policy of the tests.
const Eager = true

// The policy of the tests, with every number that delays a trial at its smallest: what comes back once
// is mapped, what is mapped is prefaulted, and what is known is forgotten at once.
const (
	mapFrom   = 1
	readyFrom = 1

	waitLooks    = 0
	recordOne    = 1
	incomeShare  = 64
	accountStart = 1 << 50
	accountMax   = 1 << 50

	aheadShare = 1

	AheadBytes = BlockSize
	Long       = PageSize
	LookEvery  = 1
	evictPause = 0
	evictTick  = time.Millisecond
	evictBlind = time.Millisecond
)
