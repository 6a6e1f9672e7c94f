package guard_test

import (
	"errors"
	"io"
	"log"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"
	"github.com/oschwald/maxminddb-golang/v2"

	"go.dw1.io/mmapfile"
)

// tempFile writes a file, and returns its name.
func tempFile(write func(f *os.File) error) string {
	f, err := os.CreateTemp("", "mmapfile")
	if err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		log.Fatal(err)
	}
	return f.Name()
}

// writeCountries writes a database with a country for each network 1.n.0.0/16.
func writeCountries(f *os.File) error {
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: "Countries", RecordSize: 24})
	if err != nil {
		return err
	}
	for i := range byte(200) {
		network := &net.IPNet{IP: net.IPv4(1, i, 0, 0).To4(), Mask: net.CIDRMask(16, 32)}
		record := mmdbtype.Map{"country": mmdbtype.String("AU"), "network": mmdbtype.Uint32(i)}
		if err := tree.Insert(network, record); err != nil {
			return err
		}
	}
	_, err = tree.WriteTo(f)
	return err
}

// writeNumbers writes the multiples of 3.
func writeNumbers(f *os.File) error {
	bitmap := roaring.New()
	for n := uint32(0); n < 1_000_000; n += 3 {
		bitmap.Add(n)
	}
	_, err := bitmap.WriteTo(f)
	return err
}

// writeColumn writes the numbers below 100,000.
func writeColumn(f *os.File) error {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(schema))
	if err != nil {
		return err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for n := range int64(100_000) {
		b.Field(0).(*array.Int64Builder).Append(n)
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	return errors.Join(w.Write(batch), w.Close())
}

// A library that was given the slice of a file gets an error if the file is truncated.
func TestGuard_Truncation(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows truncates no file that is mapped")
	}
	for _, c := range []struct {
		name  string
		write func(f *os.File) error
		// open returns a function that looks at all that b holds.
		open func(b []byte) (look func() error, err error)
	}{
		{"maxminddb", writeCountries, func(b []byte) (func() error, error) {
			db, err := maxminddb.OpenBytes(b)
			return func() error {
				for i := range byte(200) {
					var record struct {
						Network byte `maxminddb:"network"`
					}
					err := db.Lookup(netip.AddrFrom4([4]byte{1, i, 2, 3})).Decode(&record)
					if err != nil || record.Network != i {
						return errors.Join(err, errors.New("another record"))
					}
				}
				return nil
			}, err
		}},
		{"roaring", writeNumbers, func(b []byte) (func() error, error) {
			bitmap := roaring.New()
			_, err := bitmap.FromBuffer(b)
			return func() error {
				for n := range uint32(1_000_000) {
					if bitmap.Contains(n) != (n%3 == 0) {
						return errors.New("another set")
					}
				}
				return nil
			}, err
		}},
		{"arrow", writeColumn, func(b []byte) (func() error, error) {
			reader, err := ipc.NewMappedFileReader(b)
			if err != nil {
				return nil, err
			}
			batch, err := reader.RecordBatch(0)
			return func() error {
				for i, n := range batch.Column(0).(*array.Int64).Int64Values() {
					if int64(i) != n {
						return errors.New("another column")
					}
				}
				return nil
			}, err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := tempFile(c.write)
			defer os.Remove(name)
			f, err := mmapfile.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			look, err := c.open(f.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			var stats mmapfile.Stats
			if mmapfile.ReadStats(&stats); stats.MappedFiles == 0 {
				t.Skip("the memory is a copy, which does not fault")
			}
			if err := f.Guard(look); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(name, 0); err != nil {
				t.Fatal(err)
			}
			if err := f.Guard(look); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("after a truncation: %v", err)
			}
		})
	}
}
