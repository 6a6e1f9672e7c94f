package locals

import (
	"fmt"
	"io"

	"test.example/observe"
)

// Run calls every function, and reads the file of the package's variable.
func Run() {
	observe.Case("locals.short", func(name string) any { return fmt.Sprint(short(name)) })
	observe.Case("locals.declared", func(name string) any { return declared(name) })
	observe.Case("locals.inferred", func(string) any {
		useInferred()
		b := make([]byte, 10)
		n, err := inferred.Read(b)
		return fmt.Sprintf("%q %v %v %s", b[:n], err, errInferred, observe.Read(inferred))
	})
	observe.Case("locals.reused", func(string) any { reused("."); return nil })
	observe.Case("locals.two", func(name string) any { two(name); return nil })
	observe.Case("locals.literal", func(name string) any { literal(name); return nil })
	observe.Case("locals.interfaces", func(name string) any {
		r := interfaces(name)
		b := make([]byte, 20)
		n, err := r.ReadAt(b, 0) // interfaces has closed the file
		m, serr := r.(io.Seeker).Seek(0, io.SeekEnd)
		return fmt.Sprint(n, err, m, serr)
	})
	observe.Case("locals.unused", func(name string) any { unused(name); return nil })
	observe.Case("locals.assigned", func(name string) any { assigned(name); return nil })
}
