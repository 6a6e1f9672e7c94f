package sys

// What Advise is told, in the order of mmapfile.Advice.
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
