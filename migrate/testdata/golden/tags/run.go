package tags

import (
	"fmt"

	"test.example/observe"
)

// Run has files that stay *os.File, too.
func Run() {
	observe.Case("tags.local", func(name string) any { local(name); return nil })
	observe.Case("tags.open", func(name string) any {
		f, err := open(name)
		return fmt.Sprint(observe.Read(f), err)
	})
	observe.Case("tags.newStore", func(name string) any { return observe.Read(newStore(name).file) })
	observe.Case("tags.unrelated", func(name string) any { return observe.Read(unrelated(name).word) })
	observe.Case("tags.terminal", func(name string) any { return terminal(name) })
}
