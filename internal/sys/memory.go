package sys

// The values for Advise of vm.Platform. mmapfile.Advice has the same values.
const (
	Normal = iota
	Sequential
	Random
	WillNeed
	DontNeed
	HugePages
	PopulateRead
	PopulateWrite
)
