//go:build mmapfile_eager

package pages

import "time"

// Eager says whether this build has the eager policy of the tests.
const Eager = true

// The policy of the tests, with every number at its smallest: what comes back once is
// mapped, what is mapped is prefaulted, and what is known is forgotten at once.
const (
	trackFrom    = 1
	mapFrom      = 1
	readyFrom    = 1
	budgetStart  = 1 << 60
	budgetMax    = 1 << 60
	incomeShare  = 32
	watchOne     = 1
	callMin      = 60
	callMax      = 2 * callTime
	measureEvery = 1 << 20
	recordFree   = 1
	mapNeeds     = 0
	mapBlocks    = 4
	mapOwn       = 1
	savedMap     = 1024
	savedBlock   = 64
	savedEvery   = 16
	joinedEvery  = 8
	restMax      = 2 << 20
	prefaultOwn  = 1
	periodOwn    = 1

	savedShare = 14
	orderFrom  = 1
	orderMax   = 32 << 10
	AheadBytes = BlockSize
	farBytes   = BlockSize
	aheadNeeds = 0
	aheadPrice = -1 << 40

	savingMin  = 600
	savingMax  = 16_000
	timedMax   = PageSize
	timedEvery = 1
	firstPrice = 1

	LookEvery  = 1
	evictPause = 0
	evictTick  = time.Millisecond
	evictBlind = time.Millisecond
)
