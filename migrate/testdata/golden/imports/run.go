package imports

import "test.example/observe"

// Run calls every function. Some panic: they copy to no Writer, or from no Reader.
func Run() {
	for _, c := range []struct {
		name string
		fn   func(name string)
	}{
		{"alias", alias}, {"alone", alone}, {"kept", kept}, {"present", present},
		{"shadowed", shadowed}, {"single", single},
	} {
		observe.Case("imports."+c.name, func(name string) any { c.fn(name); return nil })
	}
}
