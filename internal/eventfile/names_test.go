package eventfile_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"go.dw1.io/mmapfile/internal/eventfile"
)

func TestParseSegmentName_Cases(t *testing.T) {
	t.Parallel()
	for _, first := range []int64{0, 1, 977, eventfile.MaxFirst, eventfile.MaxSeq} {
		name := filepath.Base(eventfile.SegmentName("dir", first))
		if got := eventfile.ParseSegmentName(name); got != first {
			t.Errorf("%s is %d", name, got)
		}
	}
	for _, name := range []string{
		"", "lock", "meta", "next.tmp", "0.log", "00000000000000000000", "00000000000000000000.log.cut",
		"-0000000000000000001.log", "+0000000000000000001.log", "000000000000000000001.log",
		fmt.Sprintf("%020d.log", uint64(eventfile.MaxSeq)+1), "99999999999999999999.log",
	} {
		if got := eventfile.ParseSegmentName(name); got != -1 {
			t.Errorf("%s is %d", name, got)
		}
	}
}
