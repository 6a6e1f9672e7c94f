package main

import (
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"go.dw1.io/mmapfile/eventlog"
)

// event is an event as a JSON line.
type event struct {
	Offset *int64    `json:"offset,omitempty"` // in a log
	Seq    *int64    `json:"seq,omitempty"`    // in a stream
	Time   time.Time `json:"time"`
	Data   *string   `json:"data,omitempty"`   // if it is valid UTF-8
	Base64 []byte    `json:"base64,omitempty"` // otherwise
}

// printJSON prints v in one line.
func (e *env) printJSON(v any) error {
	enc := json.NewEncoder(e.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// printEvent prints an event. With raw it prints the data, and a newline.
func (e *env) printEvent(s *source, ev eventlog.Event, raw bool) error {
	at := s.at(ev)
	if e.json {
		line := event{Time: ev.Time.UTC()}
		if s.stream != nil {
			line.Seq = &at
		} else {
			line.Offset = &at
		}
		if utf8.Valid(ev.Data) {
			text := string(ev.Data)
			line.Data = &text
		} else {
			line.Base64 = ev.Data
		}
		return e.printJSON(line)
	}
	if !raw {
		line := strconv.AppendInt(e.out.AvailableBuffer(), at, 10)
		line = append(line, ' ')
		line = ev.Time.UTC().AppendFormat(line, time.RFC3339Nano)
		e.out.Write(append(line, ' '))
		if !plain(ev.Data) {
			e.out.WriteString(strconv.Quote(string(ev.Data)))
			return e.out.WriteByte('\n')
		}
	}
	e.out.Write(ev.Data)
	return e.out.WriteByte('\n')
}

// plain reports whether data can be printed as they are: not what a terminal would obey, and
// nothing that begins as quoted data do.
func plain(data []byte) bool {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 || !strconv.IsPrint(r) && r != '\t' || i == 0 && r == '"' {
			return false
		}
		i += n
	}
	return true
}
