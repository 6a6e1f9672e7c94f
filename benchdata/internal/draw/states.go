package draw

// state is a state of a file that is written to, in words.
type state struct{ key, what string }

// stateGroups are the states of the chart of writes, in its order.
var stateGroups = []struct {
	what   string
	states []state
}{
	{"the same pages again, in order", []state{
		{"hot-64B", "64 B calls over 64 KiB"}, {"rewrite-1KB", "1 KiB calls over 64 MiB"},
		{"rewrite-64KB", "64 KiB calls over 64 MiB"}, {"rewrite-1MB", "1 MiB calls over 64 MiB"},
		{"rewrite-500MB", "one call of 500 MiB"}, {"rewrite-1KB-folios", "1 KiB calls, large folios"}}},
	{"64 B all over the file", []state{
		{"random-64B", "random, 64 MiB"}, {"random-64B-pages", "random, single pages"},
		{"random-64B-folios", "random, large folios"}, {"random-64B-1GB", "random, 1 GiB"},
		{"halves-64B", "random, two goroutines"}, {"scattered-64B", "one in 64 KiB"},
		{"scattered-64B-folios", "one in 64 KiB, large folios"}, {"sparse-random-64B", "random, in a hole"}}},
	{"once through the file", []state{
		{"once-4KB", "4 KiB calls"}, {"once-1MB-1GB", "1 MiB calls, 1 GiB"},
		{"fresh-4KB", "new file, 4 KiB calls"}, {"fresh-64KB", "new file, 64 KiB calls"},
		{"sparse-4KB", "a hole, 4 KiB calls"}, {"sparse-64KB", "a hole, 64 KiB calls"},
		{"allocated-4KB", "allocated, 4 KiB calls"}, {"allocated-64KB", "allocated, 64 KiB calls"}}},
	{"and then a Sync", []state{
		{"sync-64B", "64 B"}, {"sync-64B-folios", "64 B, large folios"}, {"sync-1KB", "1 KiB"},
		{"sync-64x64B", "64 × 64 B"}, {"sync-40x64B-in-64KB", "40 × 64 B in 64 KiB"},
		{"sync-5000x64B-in-1MB", "5,000 × 64 B in 1 MiB"}, {"sync-10000x64B", "10,000 × 64 B"},
		{"sync-20000x64B", "20,000 × 64 B"}, {"sync-rewrite-1KB", "64 MiB in 1 KiB calls"},
		{"sync-rewrite-64KB", "64 MiB in 64 KiB calls"}, {"sync-rewrite-1MB", "64 MiB in 1 MiB calls"}}},
	{"while the file is written back", []state{
		{"written-back-64B", "64 B, random"}, {"written-back-4KB", "4 KiB calls, in order"}}},
}
