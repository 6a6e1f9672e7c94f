package sys

// What Advise is told. mmapfile.Advice has the same values.
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
