package scan

// Access is how a Scanner reaches the bytes of a file.
type Access = access

const (
	AccessAuto = accessAuto
	AccessView = accessView
	AccessRead = accessRead
)

// With returns s with another way to the bytes.
func (s Scanner) With(a Access) Scanner {
	s.access = a
	return s
}
