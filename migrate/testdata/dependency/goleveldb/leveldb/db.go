// Package leveldb opens its files in another package of its module.
package leveldb

import "github.com/syndtr/goleveldb/leveldb/storage"

func Open(name string) error { return storage.Open(name) }
