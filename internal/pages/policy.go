//go:build !mmapfile_eager

package pages

import (
	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/prices"
)

// Eager says whether this build has the eager policy of the tests.
const Eager = false

// These numbers can be tuned. Each has its unit, and what is worse without it or with another value.
const (
	mapFrom   = 8 // calls on seen pages before the file is mapped: with fewer, little of a block is seen by then
	readyFrom = 2 // and in a block before it is ready, or in order before the next are predicted: each costs as much as some calls

	richFrom = account.Max / 2 // with less, a page is given up that a mapped call proved nothing of (few zeros of the last page)

	waitLooks   = 64 // looks for which a trial waits that is not to be made any more: lives of 200 reads after other work
	recordOne   = 8  // one in so many groups of LookEvery calls is recorded with an empty account: a record takes 24 to 52 ns
	incomeShare = 64 // one in 64 parts of each system call's time is earned: more loses more, less gains later

	periodEvery = 64 // writes of which one begins a period of mapped ones, after an eighth of them were in vain: WriteAt and Stat beside a hot file

	dearEvery = 96 // reads of a size of which copies take longer, of which one is timed: with more, they are not tried again

	longShare = 36 // and of what a long call takes more, since its record costs no more than that of a short one: reads of 32 KiB

	reserveFrom = 3 * BlockSize // bytes of a mapped write above which the account must pay if each page is a fault: writes of 240 KB, written back by others

	// AheadBytes is the number of bytes that one question to the system covers: bufio.Scanner.
	AheadBytes = 512 << 10

	// Long is that of package prices.
	Long = prices.Long

	// LookEvery is the number of system calls of a file from one look at the major faults, and one
	// addition to the account, to the next: with more, gains come later; with fewer, looks cost more.
	LookEvery = 32
)
