module go.dw1.io/mmapfile

go 1.25.0

require (
	golang.org/x/exp v0.0.0-20250911091902-df9299821621
	golang.org/x/sys v0.39.0
)
