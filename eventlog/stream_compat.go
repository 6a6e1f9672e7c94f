package eventlog

// append is Append.
func (l *Log) append(p []byte, sync bool) (int64, error) { return l.Append(p) }

func (l *Log) syncTo(end int64) error { return l.Sync() }

func (l *Log) startFlusher() {}
