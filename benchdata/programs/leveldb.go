package main

import (
	"errors"
	"fmt"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"
)

var levelDir = &dataset{"leveldb", makeLevel}

var levelPrograms = []program{
	{name: "leveldb", what: "goleveldb without a block cache: 50,000 gets of 64 MB", data: levelDir, run: getLevel},
}

func levelKeys(scale float64) int { return scaled(230_000, scale) }

func levelKey(i int) []byte { return fmt.Appendf(nil, "key-%012d", i) }

func makeLevel(path string, scale float64) (err error) {
	db, err := leveldb.OpenFile(path, &opt.Options{NoSync: true, Compression: opt.NoCompression, WriteBuffer: 32 << 20})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	r := random(12)
	var batch leveldb.Batch
	for i := range levelKeys(scale) {
		batch.Put(levelKey(i), appendNoise(nil, r, 256))
		if batch.Len() == 1000 {
			if err := db.Write(&batch, nil); err != nil {
				return err
			}
			batch.Reset()
		}
	}
	return errors.Join(db.Write(&batch, nil), db.CompactRange(util.Range{}))
}

func getLevel(e *env) (res result, err error) {
	files, err := e.levelStorage(e.path, true)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	db, err := leveldb.Open(files, &opt.Options{ReadOnly: true, BlockCacher: opt.NoCacher, Compression: opt.NoCompression})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	r := random(13)
	for range scaled(50_000, e.scale) {
		value, err := db.Get(levelKey(r.IntN(levelKeys(e.scale))), nil)
		if err != nil {
			return res, err
		}
		res.add(int64(value[0])<<8 | int64(value[len(value)-1]))
	}
	return res, nil
}
