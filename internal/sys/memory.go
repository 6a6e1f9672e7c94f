package sys

// The values for Advise. mmapfile.Advice has the same values.
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
