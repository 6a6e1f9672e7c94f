// Package dirfs has the benchmarks of mmapfile.DirFS and os.DirFS. No page shows their results:
//
//	go -C benchdata test ./internal/dirfs -run '^$' -bench . -count 6 | benchstat -col /impl -row /call,/dir -
//
// A name is DirFS/call=Open/dir=dir/impl=mmapfile. The directory "dirlink" is a symbolic link to "dir".
package dirfs
