package eventlog

// hooks are steps that tests look at.
var hooks = struct {
	trace func(dir, op, name string) // ends a step of the Stream in dir: a crash may follow
}{
	trace: func(dir, op, name string) {},
}
