package fields

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"test.example/observe"
)

// Run uses what the functions return.
func Run() {
	observe.Case("fields.table", func(name string) any {
		for _, ext := range []string{".data", ".index"} {
			b, _ := os.ReadFile(name)
			os.WriteFile(name+ext, append(b, ext...), 0o644)
		}
		t, err := New(name)
		if err != nil {
			return err
		}
		p := make([]byte, 16)
		result := ""
		for i, n := range []int{1, 10, 10, 5, 9_000, 9_000, 6_000, 100, 1, 9_000} { // in the last page, and before it
			result += fmt.Sprint(t.put(bytes.Repeat([]byte{'a' + byte(i)}, n)))
		}
		for range 3 {
			result += fmt.Sprint(t.get(p), observe.Bytes(p))
		}
		n, err := t.Reader().ReadAt(p, 9_999)
		result += fmt.Sprint(n, err, observe.Bytes(p))
		result += fmt.Sprint(seekTo(t.log, -1), seekTo(t.log, 1)) + observe.Read(t.log)
		return result + fmt.Sprint(t.log.Close(), t.data.Close(), t.index.Close(), t.get(p))
	})
	observe.Case("fields.newPair", func(string) any {
		p := newPair()
		p.read()
		return observe.Read(p.file)
	})
	observe.Case("fields.openTwo", func(name string) any {
		a, b := openTwo(name)
		n, err := io.CopyN(io.Discard, a, 5_000)
		result := fmt.Sprint(n, err, observe.Read(b))
		m, err := io.Copy(os.Stdout, a) // by the kernel, from the cursor on
		result += fmt.Sprint(m, err, observe.Read(a))
		closeTwo(a, b)
		return result
	})
	observe.Case("fields.nested", func(name string) any {
		all := nested(name)
		result := fmt.Sprint(all[0].table2 == nil, all[1].files2 == all[1].inner.file)
		return result + observe.Read(all[1].inner.file) + fmt.Sprint(all[1].inner.file.Close())
	})
}
