package run

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgress_Line(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown bytes.Buffer
		p := &progress{w: &shown, rounds: 4, began: time.Now()}
		time.Sleep(30 * time.Second) // what comes before the first round is no part of it
		for p.round = 0; p.round <= p.rounds; p.round++ {
			for range 2 {
				p.show("BenchmarkA")
				time.Sleep(10 * time.Second)
			}
		}
		want := "round 1 of 4, 50s\n" +
			"round 2 of 4, 1m10s, about 1m0s left\n" +
			"round 3 of 4, 1m30s, about 40s left\n" +
			"round 4 of 4, 1m50s, about 20s left\n"
		if shown.String() != want {
			t.Errorf("shows\n%s, want\n%s", shown.String(), want)
		}
	})
}
