package notreturned

import (
	"fmt"

	"test.example/observe"
)

// Run has the assertions of the package, which must find what they found.
func Run() {
	observe.Case("notreturned.printed", func(name string) any { printed(name); return nil })
	observe.Case("notreturned.asBuffer", func(name string) any { return asBuffer(name) })
	observe.Case("notreturned.asserts", func(string) any {
		return fmt.Sprint(logs(), is[fmt.Stringer](message{}), as[fmt.Stringer](nil))
	})
}
