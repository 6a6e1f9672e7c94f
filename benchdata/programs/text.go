package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strconv"
)

var (
	textFile = &dataset{"lines.txt", func(path string, scale float64) error {
		return makeLines(path, scaled(2_500_000, scale), 3, func(p []byte, r *rand.Rand, _ int) []byte {
			return appendText(p, r, between(r, 10, 100))
		})
	}}
	csvFile = &dataset{"table.csv", func(path string, scale float64) error {
		return makeLines(path, scaled(600_000, scale), 4, func(p []byte, r *rand.Rand, i int) []byte {
			p = strconv.AppendInt(p, int64(i), 10)
			for range 5 {
				p = append(appendText(append(p, ',', '"'), r, 10+r.IntN(10)), '"')
			}
			return p
		})
	}}
	jsonFile = &dataset{"records.json", func(path string, scale float64) error {
		return makeLines(path, scaled(200_000, scale), 5, func(p []byte, r *rand.Rand, i int) []byte {
			p = fmt.Appendf(p, `{"id":%d,"score":%.3f,"name":"`, i, r.Float64())
			p = append(appendText(p, r, 20), `","text":"`...)
			return append(appendText(p, r, between(r, 20, 100)), `"}`...)
		})
	}}
	numberFile = &dataset{"numbers.txt", func(path string, scale float64) error {
		return makeLines(path, scaled(80_000, scale), 6, func(p []byte, r *rand.Rand, _ int) []byte {
			return strconv.AppendInt(p, int64(r.IntN(1_000_000)), 10)
		})
	}}
)

var textPrograms = []program{
	{name: "scanner", what: "`bufio.Scanner`: lines of 95 MB", data: textFile, run: scanLines},
	{name: "csv", what: "`encoding/csv`: read 56 MB", data: csvFile, run: readCSV},
	{name: "json", what: "`json.Decoder`: 26 MB of records", data: jsonFile, run: decodeJSON},
	{name: "fscan", what: "`fmt.Fscan`: 80,000 numbers", data: numberFile, run: scanNumbers},
}

// makeLines writes n lines, each appended by fn.
func makeLines(path string, n int, seed uint64, fn func(p []byte, r *rand.Rand, i int) []byte) error {
	return writeFile(path, func(w *bufio.Writer) error {
		r := random(seed)
		var line []byte
		for i := range n {
			line = append(fn(line[:0], r, i), '\n')
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
}

func scanLines(e *env) (result, error) {
	return e.withFile(func(f file, res *result) error {
		s := bufio.NewScanner(f)
		for s.Scan() {
			res.add(int64(len(s.Bytes())))
		}
		return s.Err()
	})
}

func readCSV(e *env) (result, error) {
	return e.withFile(func(f file, res *result) error {
		r := csv.NewReader(f)
		r.ReuseRecord = true
		for {
			record, err := r.Read()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			res.add(int64(len(record[len(record)-1])))
		}
	})
}

func decodeJSON(e *env) (result, error) {
	return e.withFile(func(f file, res *result) error {
		for d := json.NewDecoder(f); ; {
			var record struct {
				ID         int64
				Score      float64
				Name, Text string
			}
			if err := d.Decode(&record); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			res.add(record.ID + int64(crc32.ChecksumIEEE([]byte(record.Text))))
		}
	})
}

func scanNumbers(e *env) (result, error) {
	return e.withFile(func(f file, res *result) error {
		for {
			var n int64
			if _, err := fmt.Fscan(f, &n); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			res.add(n)
		}
	})
}
