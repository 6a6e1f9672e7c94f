package filetest

import (
	"os"
	"reflect"
	"runtime"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/evictions"
	"go.dw1.io/mmapfile/internal/sys"
)

// CanMap reports whether this build maps files.
const CanMap = sys.Maps

// MapsUnasked reports whether this build maps a file because of calls alone, without Bytes or
// View, and other processes can still truncate it.
const MapsUnasked = sys.Maps && runtime.GOOS != "windows"

// NeedsGain skips a test whose file must be mapped after few calls, if the files of all tests pay from one
// account: what others have tried is not paid back yet.
func NeedsGain(t testing.TB) {
	t.Helper()
	if AccountIsShipped {
		t.Skip("the account of the policy is that of all tests")
	}
}

// AccountIsShipped reports whether tests have as much for trials as programs have.
var AccountIsShipped = os.Getenv("MMAPFILE_ACCOUNT") == "shipped"

// populated is the number of bytes that Map reads in: more than any file of a test that is not
// sparse.
const populated = 16 << 20

// Map maps f, so that reads copy from the mapping until the end of the test. It does nothing in a
// build without mappings, because Bytes would make a copy there.
func Map(t testing.TB, f *mmapfile.File) {
	t.Helper()
	if !CanMap {
		return
	}
	if f.Bytes() == nil {
		t.Fatal("Bytes returned nil for a file that can be mapped")
	}
	t.Cleanup(evictions.Hold()) // the faults of other tests would make it forget its pages
	if err := f.Advise(0, min(f.Len(), populated), mmapfile.PopulateRead); err != nil {
		t.Fatal(err)
	}
}

// OpenMapped opens and maps name, as Open and Map do.
func OpenMapped(t testing.TB, name string) *mmapfile.File {
	t.Helper()
	f := Open(t, name)
	Map(t, f)
	return f
}

// PrefaultWrites rewrites every page so often that further writes to it are mapped writes.
func PrefaultWrites(t testing.TB, f File, content []byte) {
	t.Helper()
	const piece = 64
	for off := 0; off < len(content); off += 4096 {
		b := content[off:min(off+piece, len(content))]
		for range 100 {
			if _, err := f.WriteAt(b, int64(off)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// NeverMap makes calls on f go to the inner file, as on storage that must not be mapped. No test
// can count on such storage, so this sets the field that says so.
func NeverMap(f *mmapfile.File) {
	never := reflect.ValueOf(f).Elem().FieldByName("file").Elem().FieldByName("never")
	(*atomic.Bool)(never.Addr().UnsafePointer()).Store(true)
}

// MappedFiles returns how many Files of the process are mapped. Parallel tests change it.
func MappedFiles() int64 {
	var s mmapfile.Stats
	mmapfile.ReadStats(&s)
	return s.MappedFiles
}

// Mapped reports whether calls on f may be served from a mapping now.
func Mapped(f *mmapfile.File) bool {
	m := reflect.ValueOf(f).Elem().FieldByName("file").Elem().FieldByName("m")
	return (*atomic.Pointer[byte])(m.Addr().UnsafePointer()).Load() != nil
}
