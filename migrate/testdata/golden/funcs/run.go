package funcs

import (
	"fmt"

	"test.example/observe"
)

// Run calls every function that is rewritten.
func Run() {
	observe.Case("funcs.newTable", func(name string) any {
		t, err := newTable(name)
		if err != nil {
			return err
		}
		return fmt.Sprint(t.Close(), t.Close())
	})
	observe.Case("funcs.both", func(name string) any { return both(name) })
	observe.Case("funcs.options", func(name string) any {
		defaults.open(name)
		defaults.open("y")
		return nil
	})
	observe.Case("funcs.created", func(name string) any { return created(name) })
	observe.Case("funcs.header", func(name string) any { return fmt.Sprint(header(name), header("")) })
	observe.Case("funcs.nested", func(name string) any { return nested(name) })
}
