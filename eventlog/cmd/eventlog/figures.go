package main

import (
	"os"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

// figures are what verify prints as JSON.
type figures struct {
	Path     string     `json:"path"`
	Segments int        `json:"segments"` // 1 for a log
	Files    int64      `json:"fileBytes"`
	First    int64      `json:"first"` // position of the first event
	Next     int64      `json:"next"`  // position of the next one
	Events   int64      `json:"events"`
	Data     int64      `json:"bytes"` // of data
	Min      int64      `json:"minData"`
	Max      int64      `json:"maxData"`
	Oldest   *time.Time `json:"oldest,omitempty"`
	Newest   *time.Time `json:"newest,omitempty"`
	Damage   int        `json:"damage"`
}

// measure adds up the lengths of the files.
func (f *figures) measure(s *source) error {
	names := []string{s.name}
	if s.stream != nil {
		var err error
		if names, err = segments(s.name); err != nil {
			return err
		}
	}
	for _, name := range names {
		fi, err := os.Stat(name)
		if os.IsNotExist(err) && s.stream != nil {
			continue // removed meanwhile
		}
		if err != nil {
			return err
		}
		f.Segments++
		f.Files += fi.Size()
	}
	return nil
}

func (f *figures) add(ev eventlog.Event) {
	n, t := int64(len(ev.Data)), ev.Time.UTC()
	if f.Events == 0 {
		f.Min = n
	}
	f.Events++
	f.Data += n
	f.Min, f.Max = min(f.Min, n), max(f.Max, n)
	if f.Oldest == nil || t.Before(*f.Oldest) {
		f.Oldest = &t
	}
	if f.Newest == nil || t.After(*f.Newest) {
		f.Newest = &t
	}
}
