package guard_test

import (
	"fmt"
	"log"
	"net/netip"
	"os"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/oschwald/maxminddb-golang/v2"

	"go.dw1.io/mmapfile"
)

// A database of countries by address. A server opens it once, and guards each request.
func Example_maxminddb() {
	name := tempFile(writeCountries)
	defer os.Remove(name)
	f, err := mmapfile.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	var db *maxminddb.Reader
	err = f.Guard(func() (err error) {
		db, err = maxminddb.OpenBytes(f.Bytes())
		return err
	})
	if err != nil {
		log.Fatal(err)
	}

	var record struct {
		Country string `maxminddb:"country"`
	}
	err = f.Guard(func() error {
		return db.Lookup(netip.MustParseAddr("1.2.3.4")).Decode(&record)
	})
	if err != nil {
		log.Fatal(err) // for one, the file was truncated
	}
	fmt.Println(record.Country)
	// Output: AU
}

// A set of numbers that stays in the file.
func Example_roaring() {
	name := tempFile(writeNumbers)
	defer os.Remove(name)
	f, err := mmapfile.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	bitmap, found := roaring.New(), false
	err = f.Guard(func() error {
		if _, err := bitmap.FromBuffer(f.Bytes()); err != nil {
			return err
		}
		found = bitmap.Contains(30_000)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found)
	// Output: true
}

// Columns that stay in the file. All code that reads them runs under Guard.
func Example_arrow() {
	name := tempFile(writeColumn)
	defer os.Remove(name)
	f, err := mmapfile.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	sum := int64(0)
	err = f.Guard(func() error {
		reader, err := ipc.NewMappedFileReader(f.Bytes())
		if err != nil {
			return err
		}
		defer reader.Close()
		batch, err := reader.RecordBatch(0)
		if err != nil {
			return err
		}
		for _, n := range batch.Column(0).(*array.Int64).Int64Values() {
			sum += n
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum)
	// Output: 4999950000
}
