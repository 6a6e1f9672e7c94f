package main

import (
	"os"
	"testing"
)

func TestTables_OfResults(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	res, err := readResults("results.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, err := render(string(page), res)
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != want {
		t.Error("the tables are not those of results.txt: run make raftlog-table")
	}
}
