package rawdb

import (
	"math/rand"
	"testing"

	"github.com/ethereum/go-ethereum/metrics"
)

// BenchmarkOurRetrieve reads items of 128 bytes at random.
func BenchmarkOurRetrieve(b *testing.B) {
	const items = 100_000
	t, err := newTable(b.TempDir(), "table", metrics.NewMeter(), metrics.NewMeter(), metrics.NewGauge(), 2<<20, freezerTableConfig{noSnappy: true}, false)
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	batch, item := t.newBatch(), make([]byte, 128)
	for i := range uint64(items) {
		item[0] = byte(i)
		if err := batch.AppendRaw(i, item); err != nil {
			b.Fatal(err)
		}
	}
	if err := batch.commit(); err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewSource(1))
	for b.Loop() {
		if _, err := t.Retrieve(uint64(random.Intn(items))); err != nil {
			b.Fatal(err)
		}
	}
}
