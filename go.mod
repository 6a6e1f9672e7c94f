module go.dw1.io/mmapfile

go 1.25.0

require golang.org/x/sys v0.39.0
