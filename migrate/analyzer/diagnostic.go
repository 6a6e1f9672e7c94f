package analyzer

import (
	"cmp"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// The categories of diagnostics.
const (
	Rewrite = "rewrite" // the fix rewrites the call
	NoGain  = "nogain"  // it would, with the option All
	Refused = "refused" // a use is in the way

	Dependency = "dependency" // another module opens files itself
)

func (c *checker) report(options Options) {
	for _, group := range c.groups() {
		obstacles := c.obstacles(group)
		if len(obstacles) > 0 {
			c.reportRefused(group, obstacles)
			continue
		}
		gain := c.gain(group)
		for _, s := range group.sites {
			d := analysis.Diagnostic{
				Pos: s.at.Pos(), End: s.at.End(), Category: Rewrite,
				Message: fmt.Sprintf("os.%s can be mmapfile%s.%s%s", s.fn.Name(), s.options(), s.fn.Name(), gain.message()),
			}
			if gain.level == noGain && !options.All {
				d.Category = NoGain
			} else {
				d.SuggestedFixes = []analysis.SuggestedFix{{
					Message:   "Replace by package mmapfile",
					TextEdits: c.edits(group),
				}}
			}
			c.Report(d)
		}
	}
}

// groups returns the groups that have a site, in the order of the first.
func (c *checker) groups() []*slot {
	slices.SortFunc(c.sites, c.compareSites)
	var groups []*slot
	for _, s := range c.sites {
		if root := s.slot.root(); !slices.Contains(groups, root) {
			groups = append(groups, root)
		}
	}
	for _, g := range groups {
		slices.SortFunc(g.sites, c.compareSites)
	}
	return groups
}

// comparePos orders positions by the names of their files, which are parsed in any order.
func (c *checker) comparePos(a, b token.Pos) int {
	p, q := c.Fset.PositionFor(a, false), c.Fset.PositionFor(b, false)
	return cmp.Or(cmp.Compare(p.Filename, q.Filename), cmp.Compare(p.Offset, q.Offset))
}

func (c *checker) compareSites(a, b *site) int { return c.comparePos(a.at.Pos(), b.at.Pos()) }

// obstacles returns all that is in the way of a group, in source order.
func (c *checker) obstacles(group *slot) []obstacle {
	all := slices.Clone(group.obstacles)
	for _, v := range group.vars {
		if o, ok := c.declObstacle(v); ok {
			all = append(all, o)
		}
		if d := c.decls[v]; d != nil && d.pkg != nil {
			all = append(all, c.unwritable(d.pkg.Pos())...)
		}
	}
	for _, s := range group.sites {
		if s.pkg == nil {
			all = append(all, obstacle{s.at.Pos(), "package os is imported with a dot", writeHand})
		}
		all = append(all, c.unwritable(s.at.Pos())...)
	}
	slices.SortStableFunc(all, func(a, b obstacle) int { return cmp.Or(c.comparePos(a.pos, b.pos), cmp.Compare(a.why, b.why)) })
	return slices.CompactFunc(all, func(a, b obstacle) bool { return a == b })
}

// unwritable returns an obstacle if pos is in a file that is not to be changed.
func (c *checker) unwritable(pos token.Pos) []obstacle {
	s := c.sourceAt(pos)
	if s != nil && !s.generated {
		return nil
	}
	return []obstacle{{pos, "the file is generated, or uses cgo", "change what generates it"}}
}

func (c *checker) reportRefused(group *slot, obstacles []obstacle) {
	first := obstacles[0]
	if strings.HasSuffix(first.write, costOfOS) && !strings.HasPrefix(c.gain(group).why, "ReadAt") {
		first.write = keepOS
	}
	for _, s := range group.sites {
		d := analysis.Diagnostic{
			Pos: s.at.Pos(), End: s.at.End(), Category: Refused,
			Message: fmt.Sprintf("os.%s stays: %s (%s): %s", s.fn.Name(), first.why, c.line(first.pos), first.write),
		}
		for _, o := range obstacles[1:] {
			d.Related = append(d.Related, analysis.RelatedInformation{Pos: o.pos, Message: "also in the way: " + o.why})
		}
		c.Report(d)
	}
}

func shortPosition(p token.Position) string {
	return fmt.Sprintf("%s:%d", filepath.Base(p.Filename), p.Line)
}

// line returns the position of pos without its directory.
func (c *checker) line(pos token.Pos) string { return shortPosition(c.Fset.Position(pos)) }
