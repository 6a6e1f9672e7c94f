package live

import (
	"io/fs"
	"os"
	"time"
)

// stamp is what the system says of a file, by which versions are told apart.
type stamp struct {
	info    fs.FileInfo
	changed time.Time // changeTime
	at      time.Time // just before the system was asked
}

// stampOf asks stat.
func stampOf(stat func() (fs.FileInfo, error)) (stamp, error) {
	at := time.Now()
	info, err := stat()
	if err != nil {
		return stamp{}, err
	}
	return stamp{info: info, changed: changeTime(info), at: at}, nil
}

// sameContent reports whether s and t are the same file, with the same size and modification time.
// A file that was renamed or removed meanwhile has the same content.
func (s stamp) sameContent(t stamp) bool {
	return s.info != nil && t.info != nil && os.SameFile(s.info, t.info) &&
		s.info.Size() == t.info.Size() && s.info.ModTime().Equal(t.info.ModTime())
}

// same reports whether also nothing else shows a change.
func (s stamp) same(t stamp) bool { return s.sameContent(t) && s.changed.Equal(t.changed) }

// coarse is the time after which a change cannot have the times of the one before: FAT has the
// coarsest. It leaves room for a server whose clock is not ours.
const coarse = 2 * time.Second

// unsure reports whether a later change may have left the same stamp, because the file had just
// changed when the system was asked.
func (s stamp) unsure() bool { return s.at.Sub(s.last()) < coarse }

// due reports whether an unsure stamp would now show such a change for certain.
func (s stamp) due(now time.Time) bool { return s.unsure() && now.Sub(s.last()) >= coarse }

// last returns when the file last changed: no program can set its change time, if there is one.
func (s stamp) last() time.Time {
	if s.changed.IsZero() {
		return s.info.ModTime()
	}
	return s.changed
}
