package main

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The database has the keys and the size of that of goleveldb.
var pebbleDir = &dataset{"pebble", makePebble}

var pebblePrograms = []program{
	{name: "pebble", what: "Pebble with a block cache of 1 MiB: 50,000 gets of 64 MB", data: pebbleDir, run: getPebble},
}

// noLog is a logger without output.
type noLog struct{ pebble.Logger }

func (noLog) Infof(string, ...any)  {}
func (noLog) Errorf(string, ...any) {}

// openPebble opens a database with a small cache and without compression.
func openPebble(path string, files vfs.FS, readOnly bool) (*pebble.DB, error) {
	cache := pebble.NewCache(1 << 20)
	defer cache.Unref()
	options := &pebble.Options{FS: files, Cache: cache, ReadOnly: readOnly, DisableWAL: true, MemTableSize: 32 << 20, Logger: noLog{pebble.DefaultLogger}}
	options.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	return pebble.Open(path, options)
}

func makePebble(path string, scale float64) (err error) {
	db, err := openPebble(path, vfs.Default, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	r, value := random(12), []byte(nil)
	for i := range levelKeys(scale) {
		value = appendNoise(value[:0], r, 256)
		if err := db.Set(levelKey(i), value, pebble.NoSync); err != nil {
			return err
		}
	}
	return db.Flush()
}

func getPebble(e *env) (res result, err error) {
	db, err := openPebble(e.path, e.pebbleFS, true)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	r := random(13)
	for range scaled(50_000, e.scale) {
		value, closer, err := db.Get(levelKey(r.IntN(levelKeys(e.scale))))
		if err != nil {
			return res, err
		}
		res.add(int64(value[0])<<8 | int64(value[len(value)-1]))
		if err := closer.Close(); err != nil {
			return res, err
		}
	}
	return res, nil
}
