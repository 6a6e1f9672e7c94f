module go.dw1.io/mmapfile/examples/migrate

go 1.26.0

require github.com/ncruces/go-sqlite3 v0.34.1

require (
	github.com/ncruces/go-sqlite3-wasm/v2 v2.2.35301 // indirect
	github.com/ncruces/julianday v1.0.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
