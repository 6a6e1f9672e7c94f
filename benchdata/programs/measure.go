package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
)

// The states that a program is measured in.
const (
	stateOne  = "one-process" // in one process, again and again
	stateNew  = "new-process" // once in this process, the files being in the page cache
	stateCold = "cold"        // once in this process, the files having been dropped from the page cache
)

// measured is the time of a run and what it found.
type measured struct {
	runs int
	each time.Duration
	res  result
}

// measure runs a program in a state. In one process it runs for at least atLeast.
func measure(p program, e *env, state string, atLeast time.Duration) (m measured, err error) {
	switch state {
	case stateOne:
		if _, _, err := timed(p, e); err != nil {
			return m, err
		}
	case stateNew:
		if err := eachFile(e.path, readAll); err != nil {
			return m, err
		}
		atLeast = 0
	case stateCold:
		if err := eachFile(e.path, drop); err != nil {
			return m, err
		}
		atLeast = 0
	default:
		return m, fmt.Errorf("no state %q", state)
	}
	runtime.GC()
	var total time.Duration
	for m.runs == 0 || total < atLeast {
		res, took, err := timed(p, e)
		if err != nil {
			return m, err
		}
		if m.runs > 0 && res != m.res {
			return m, fmt.Errorf("%s: found %v and then %v", p.name, m.res, res)
		}
		m.res, total = res, total+took
		m.runs++
	}
	m.each = total / time.Duration(m.runs)
	return m, nil
}

// timed runs a program once. Its output directory is made before and removed afterwards.
func timed(p program, e *env) (res result, took time.Duration, err error) {
	if p.writes {
		if e.out, err = os.MkdirTemp("", "mmapfile-programs-out-"); err != nil {
			return res, 0, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(e.out)) }()
	}
	began := time.Now()
	res, err = p.run(e)
	took = time.Since(began)
	if err == nil && res.count == 0 {
		err = fmt.Errorf("%s found nothing", p.name)
	}
	return res, took, err
}
