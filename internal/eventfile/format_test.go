package eventfile

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"testing"
)

func TestSumHead_EqualsCRC(t *testing.T) {
	t.Parallel()
	for _, time := range []int64{0, 1, -1, math.MinInt64, math.MaxInt64, 1_700_000_001_000_000_001, 0x0123456789abcdef} {
		for _, size := range []uint32{0, 1, 5, 0x89abcdef, math.MaxUint32} {
			b := binary.LittleEndian.AppendUint64(nil, uint64(time))
			b = binary.LittleEndian.AppendUint32(b, size)
			if got, want := sumHead(time, size), crc32.ChecksumIEEE(b); got != want {
				t.Errorf("of %d, %d: %#x, want %#x", time, size, got, want)
			}
		}
	}
}
