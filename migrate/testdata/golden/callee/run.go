package callee

import (
	"fmt"
	"io"

	"test.example/observe"
	"test.example/progress"
)

type sink struct{ progress.Sink }

func (sink) Attach(w io.Writer) { fmt.Fprintf(w, "attached") }

// Run has files that stay *os.File, too.
func Run() {
	observe.Case("callee.copies", func(name string) any { copies(name); return nil })
	observe.Case("callee.draw", func(name string) any { draw(name); return nil })
	observe.Case("callee.dynamic", func(name string) any { dynamic(name, sink{}); return nil })
}
