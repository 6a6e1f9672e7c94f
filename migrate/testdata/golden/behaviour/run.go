package behaviour

import (
	"os"

	"test.example/observe"
)

// Run has some of the files that stay *os.File, too: code that asserts it must find it.
func Run() {
	observe.Case("behaviour.harmless", func(name string) any { harmless(name); return nil })
	observe.Case("behaviour.terminal", func(name string) any { terminal(name); return nil })
	observe.Case("behaviour.asksForLen", func(name string) any { asksForLen(name); return nil })
	observe.Case("behaviour.asksForIntLen", func(name string) any { asksForIntLen(name); return nil })
	observe.Case("behaviour.looks", func(string) any { return looks() })
	observe.Case("behaviour.pool", func(string) any {
		_, ok := pool{"."}.Get().(*os.File)
		return ok
	})
}
