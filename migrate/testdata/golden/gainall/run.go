package gainall

import (
	"os"

	"test.example/observe"
)

// Run copies to a new file, over a longer one, and to the file itself.
func Run() {
	observe.Case("gainall.copyFile", func(name string) any { return copyFile("new", name) })
	observe.Case("gainall.longer", func(name string) any {
		os.WriteFile("longer", make([]byte, 100_000), 0o644)
		return copyFile("longer", name)
	})
	observe.Case("gainall.itself", func(name string) any { return copyFile(name, name) })
}
