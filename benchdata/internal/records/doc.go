// Package records has the benchmarks of records that are written in sequence, each by itself or
// collected in a buffer first. It is nothing but benchmarks: "make events" runs them in turns with
// those of package eventlog, and by hand they are
//
//	go -C benchdata test ./internal/records -run '^$' -bench /file=10MB
//
// A name is Records/file=10MB/pass=later/record=100B/buffer=8KB/way=writeat. The buffer "none" is a
// call, or a copy, for each record; a later pass is one after three others. Buffered copies into a
// bare mapping come in two readings: in the published loop the position goes on by one record where
// a whole buffer was copied (reading=asPublished), so that it touches a fraction of the pages;
// reading=corrected goes on by what was copied.
package records
