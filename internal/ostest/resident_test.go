package ostest

import (
	"errors"
	"math"
	"os"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

func TestResident_JustRead(t *testing.T) {
	t.Parallel()
	size := 20*page + 100
	for _, private := range []bool{false, true} {
		f, err := mmapfile.Options{Private: private}.OpenFile(filetest.Temp(t, filetest.Pattern(int(size))), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Resident(0, 1); errors.Is(err, errors.ErrUnsupported) && mayLack("Resident") {
			t.Skip(err)
		}
		if private {
			filetest.LoadBytes(f.Bytes()) // mincore may report mapped pages only
		}
		for _, r := range [][3]int64{{0, size, size}, {0, math.MaxInt64, size}, {5, 10, 10}, {page - 1, 2, 2}, {page, page, page},
			{1, 3 * page, 3 * page}, {size - 10, 10, 10}, {size - 10, 50, 10}, {size, 1, 0}, {0, 0, 0}} {
			if n, err := f.Resident(r[0], r[1]); n != r[2] || err != nil {
				t.Errorf("private %v: %d of %d bytes at %d (%v), want %d", private, n, r[1], r[0], err, r[2])
			}
		}
	}
}
