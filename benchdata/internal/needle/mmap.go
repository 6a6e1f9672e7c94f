package needle

// mapped maps the file and searches it in one go.
func mapped(find index, flags int) Search {
	return func(path string, _ int) (int64, error) {
		return withMapping(path, flags, func(p []byte) (int64, error) { return int64(find(p)), nil })
	}
}

func mappedParallel(find index) Search {
	return func(path string, workers int) (int64, error) {
		return withMapping(path, 0, func(p []byte) (int64, error) { return bytesParallel(p, workers, find) })
	}
}
