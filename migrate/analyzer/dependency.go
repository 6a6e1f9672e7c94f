package analyzer

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
)

// adaptersPath is the module with adapters, one a package.
const adaptersPath = mmapfilePath + "/adapters"

// adapters has the package of adaptersPath for each module that takes an interface for its files.
var adapters = map[string]string{
	"github.com/cockroachdb/pebble/v2": "pebblevfs",
	"github.com/go-git/go-billy/v6":    "billyfs",
	"github.com/spf13/afero":           "aferofs",
	"github.com/syndtr/goleveldb":      "leveldbstorage",
}

// OpensFact says how many calls open a file in a package, and in those of the same module that it
// imports.
type OpensFact struct {
	Module   string
	Packages []PackageOpens
}

// PackageOpens counts the calls of one package, those that may pay, and those that cannot
// be rewritten.
type PackageOpens struct {
	Path                string
	Calls, MayPay, Stay int
}

func (*OpensFact) AFact()           {}
func (f *OpensFact) String() string { return fmt.Sprint(f.Module, f.Packages) }

// modulePath returns the path of the module at hand, or "" in the standard library.
func (c *checker) modulePath() string {
	if c.Module == nil || c.Module.Path == "std" {
		return ""
	}
	return c.Module.Path
}

// exportOpens counts the calls of this package for those that import it. A call may pay
// whether or not something is in its way.
func (c *checker) exportOpens() {
	module := c.modulePath()
	if module == "" {
		return
	}
	own := PackageOpens{Path: c.Pkg.Path()}
	for _, group := range c.groups() {
		own.Calls += len(group.sites)
		if c.gain(group).level > noGain {
			own.MayPay += len(group.sites)
		}
		if len(c.obstacles(group)) > 0 {
			own.Stay += len(group.sites)
		}
	}
	all := map[string]PackageOpens{}
	if own.Calls > 0 {
		all[own.Path] = own
	}
	for _, pkg := range c.Pkg.Imports() {
		var fact OpensFact
		if c.ImportPackageFact(pkg, &fact) && fact.Module == module {
			fact.addTo(all)
		}
	}
	if len(all) > 0 {
		packages := slices.SortedFunc(maps.Values(all), func(a, b PackageOpens) int { return cmp.Compare(a.Path, b.Path) })
		c.ExportPackageFact(&OpensFact{module, packages})
	}
}

func (f *OpensFact) addTo(all map[string]PackageOpens) {
	for _, p := range f.Packages {
		all[p.Path] = p
	}
}

// dependency is another module that opens files itself.
type dependency struct {
	at       *ast.ImportSpec // the first
	module   string
	packages map[string]PackageOpens
}

// reported has the pairs of modules of which one imports the other, and that are reported.
var reported sync.Map

// reportDependencies reports the modules that open files themselves, at one import of each.
func (c *checker) reportDependencies() {
	for _, d := range c.dependencies() {
		calls, mayPay, stay := 0, 0, 0
		for _, p := range d.packages {
			calls, mayPay, stay = calls+p.Calls, mayPay+p.MayPay, stay+p.Stay
		}
		adapter, advice := adapters[d.module], "it has no adapter"
		switch {
		case adapter != "":
			adapter = adaptersPath + "/" + adapter
			advice = adapter + " is the adapter for it"
		case mayPay == 0:
			advice = "leave it"
		}
		if adapter != "" && c.importsPath(adapter) {
			continue
		}
		if _, said := reported.LoadOrStore([2]string{c.modulePath(), d.module}, true); said {
			continue
		}
		count := strconv.Itoa(calls) + " calls"
		if calls == 1 {
			count = "1 call"
		}
		c.Report(analysis.Diagnostic{
			Pos: d.at.Pos(), End: d.at.End(), Category: Dependency,
			Message: fmt.Sprintf("%s opens files itself, with %s, of which %d may pay and %d cannot be rewritten: %s", d.module, count, mayPay, stay, advice),
		})
	}
}

// dependencies returns the other modules whose packages this one imports outside of its tests, in
// the order of the imports.
func (c *checker) dependencies() (all []*dependency) {
	files := slices.SortedFunc(slices.Values(c.Files), func(a, b *ast.File) int { return c.comparePos(a.Pos(), b.Pos()) })
	for _, f := range files {
		if strings.HasSuffix(c.Fset.Position(f.Pos()).Filename, "_test.go") {
			continue
		}
		for _, spec := range f.Imports {
			var fact OpensFact
			name := c.TypesInfo.PkgNameOf(spec)
			if name == nil || !c.ImportPackageFact(name.Imported(), &fact) || fact.Module == c.modulePath() ||
				fact.Module == mmapfilePath || strings.HasPrefix(fact.Module, mmapfilePath+"/") {
				continue
			}
			i := slices.IndexFunc(all, func(d *dependency) bool { return d.module == fact.Module })
			if i < 0 {
				i = len(all)
				all = append(all, &dependency{spec, fact.Module, map[string]PackageOpens{}})
			}
			fact.addTo(all[i].packages)
		}
	}
	return all
}
