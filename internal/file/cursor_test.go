package file_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/file"
	"go.dw1.io/mmapfile/internal/filetest"
)

// The cursor is that of a File as OpenFile returns it, and not that of New.
func TestOpenRoot_OwnCursor(t *testing.T) {
	t.Parallel()
	dir := filetest.Dir(t)
	content := filetest.Pattern(int(2 * page))
	filetest.Write(t, filepath.Join(dir, "data"), content)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	inner, err := root.Open("data")
	if err != nil {
		t.Fatal(err)
	}
	taken, err := mmapfile.New(inner)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name       string
		flag       int
		own, taken bool
	}{{"reading", os.O_RDONLY, true, false}, {"writing", os.O_RDWR, true, false}, {"appending", os.O_RDWR | os.O_APPEND, false, false}, {"New", 0, false, true}} {
		f := taken
		if !c.taken {
			if f, err = mmapfile.OpenRoot(root, "data", c.flag, 0); err != nil {
				t.Fatal(err)
			}
		}
		f.Bytes()
		b := make([]byte, 64)
		if _, err := f.Seek(page, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Read(b); err != nil || !bytes.Equal(b, content[page:page+64]) {
			t.Errorf("%s: read %x, %v", c.name, b, err)
		}
		if own := file.OwnCursor(f); own != c.own {
			t.Errorf("%s: own cursor: %v, want %v", c.name, own, c.own)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
