package eventfile

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"go.dw1.io/mmapfile/internal/logdisk"
)

// The files of a stream beside its segments.
const (
	MetaName = "meta" // the bounds
	LockName = "lock" // the writer locks it
)

// MaxFirst is the largest number that Stream.TruncateFront accepts. Appends count up for centuries
// from there to MaxSeq, the largest number of an event.
const (
	MaxFirst = 1 << 62
	MaxSeq   = MaxFirst + MaxFirst/2
)

const (
	segmentSuffix = ".log"
	segmentDigits = 20
)

// SegmentName returns the name of the file whose first event is number first.
func SegmentName(dir string, first int64) string {
	return filepath.Join(dir, fmt.Sprintf("%0*d%s", segmentDigits, first, segmentSuffix))
}

// ParseSegmentName returns the number of the first event of the file with this name, or -1 if it is
// no segment.
func ParseSegmentName(name string) int64 {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok || len(digits) != segmentDigits || strings.Trim(digits, "0123456789") != "" {
		return -1
	}
	first, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || first > MaxSeq {
		return -1
	}
	return first
}

// ListSegments returns the numbers of the first events of all segments in dir, ascending.
func ListSegments(dir string) (firsts []int64, err error) {
	entries, err := logdisk.ReadDir(dir) // sorted, and so are names of equal length
	for _, e := range entries {
		if first := ParseSegmentName(e.Name()); first >= 0 {
			firsts = append(firsts, first)
		}
	}
	return firsts, err
}

// SavedName returns the name of the file for the bytes of a log from an offset on, which its writer is
// about to truncate. It has a number if an earlier crash has left such a file.
func SavedName(log string, off int64) string {
	name := fmt.Sprintf("%s.cut-%d", log, off)
	free := name
	for i := 1; ; i++ {
		if _, err := logdisk.Lstat(free); err != nil {
			return free
		}
		free = fmt.Sprintf("%s.%d", name, i)
	}
}
